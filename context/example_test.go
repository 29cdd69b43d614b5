package context_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/foliot-go/foliot/context"
)

// Each request has a deadline. It is cancelled when the request is done.
func ExampleWithTimeout() {
	answer := func(ctx context.Context, after time.Duration) error {
		ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		select {
		case <-time.After(after):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	fmt.Println(answer(context.Background(), 0))
	fmt.Println(answer(context.Background(), time.Hour))
	// Output:
	// <nil>
	// context deadline exceeded
}

// The cause shows which of several deadlines has passed.
func ExampleWithTimeoutCause() {
	errConnect := errors.New("no connection within 10 ms")
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	connecting, cancelConnecting := context.WithTimeoutCause(ctx, 10*time.Millisecond, errConnect)
	defer cancelConnecting()
	<-connecting.Done()
	fmt.Println(connecting.Err())
	fmt.Println(context.Cause(connecting))
	fmt.Println(ctx.Err())
	// Output:
	// context deadline exceeded
	// no connection within 10 ms
	// <nil>
}
