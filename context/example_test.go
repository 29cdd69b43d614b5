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

// All steps of a job share one deadline. A step with a later one ends with the job.
func ExampleWithDeadline() {
	end := time.Now().Add(10 * time.Millisecond)
	job, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	step, cancelStep := context.WithDeadline(job, end.Add(time.Hour))
	defer cancelStep()
	<-step.Done()
	deadline, ok := step.Deadline()
	fmt.Println(step.Err(), deadline.Equal(end), ok)
	// Output: context deadline exceeded true true
}

// The cause is for the deadline. A context that is cancelled before has another one.
func ExampleWithDeadlineCause() {
	errClosing := errors.New("the shop closes")
	closing := time.Now().Add(10 * time.Millisecond)
	late, cancel := context.WithDeadlineCause(context.Background(), closing, errClosing)
	defer cancel()
	early, cancelEarly := context.WithDeadlineCause(context.Background(), closing.Add(time.Hour), errClosing)
	cancelEarly()
	<-late.Done()
	fmt.Println(context.Cause(late))
	fmt.Println(context.Cause(early))
	// Output:
	// the shop closes
	// context canceled
}
