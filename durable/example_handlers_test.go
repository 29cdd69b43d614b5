package durable_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/local"
)

// A handler that returns an error is called again, with the same key and a greater attempt. One that
// returns Drop is not.
func Example_retry() {
	ctx, stop := context.WithCancel(context.Background())
	dir, err := os.MkdirTemp("", "timers")
	check(err)
	defer os.RemoveAll(dir)
	store, err := local.Open(dir, local.Options{})
	check(err)
	defer store.Close()

	s, err := durable.New(store, durable.Options{
		Retry: durable.Retry{Min: 10 * time.Millisecond, Max: time.Minute, Attempts: 20},
	})
	check(err)
	s.Handle("remind", func(ctx context.Context, f durable.Fire) error {
		fmt.Println(f.ID, "attempt", f.Attempt)
		switch {
		case f.Attempt < 3:
			return errors.New("the mail server is away") // again, after a pause
		default:
			stop()
			return fmt.Errorf("the user is gone: %w", durable.Drop) // never again
		}
	})
	_, err = s.Schedule(ctx, durable.Timer{ID: "mail-to-ann", At: time.Now(), Kind: "remind"})
	check(err)
	check(s.Run(ctx))
	fmt.Println("retried", s.Stats().Retried, "dropped", s.Stats().Dropped)
	// Output:
	// mail-to-ann attempt 1
	// mail-to-ann attempt 2
	// mail-to-ann attempt 3
	// retried 2 dropped 1
}

// A timer whose attempts are used up is dead. It is kept until it is redriven or discarded.
func ExampleScheduler_Redrive() {
	dir, err := os.MkdirTemp("", "timers")
	check(err)
	defer os.RemoveAll(dir)
	store, err := local.Open(dir, local.Options{})
	check(err)
	defer store.Close()

	s, err := durable.New(store, durable.Options{Retry: durable.Retry{Attempts: 1}})
	check(err)
	broken := true
	var stop context.CancelFunc
	s.Handle("charge", func(ctx context.Context, f durable.Fire) error {
		defer stop()
		if broken {
			return errors.New("the bank is away")
		}
		fmt.Println("charged", string(f.Payload))
		return nil
	})

	ctx, cancel := context.WithCancel(context.Background())
	stop = cancel
	_, err = s.Schedule(ctx, durable.Timer{ID: "rent-of-may", At: time.Now(), Kind: "charge", Payload: []byte("900 EUR")})
	check(err)
	check(s.Run(ctx))

	ctx, stop = context.WithCancel(context.Background())
	defer stop()
	for f, err := range s.Dead(ctx) {
		check(err)
		fmt.Println("dead:", f.ID, "after", f.Attempt, "attempt")
	}
	broken = false // the cause is mended
	ok, err := s.Redrive(ctx, "rent-of-may")
	fmt.Println("redriven:", ok, err)
	check(s.Run(ctx))
	// Output:
	// dead: rent-of-may after 1 attempt
	// redriven: true <nil>
	// charged 900 EUR
}

// A handler may be called twice for one occurrence: it has ended, and the process crashes before that
// is kept. A handler that must not do its work twice stores the key of the occurrence with the work,
// in one transaction.
func ExampleFire_Key() {
	charged := make(map[string]bool) // a table of the program's database, with a unique key
	charge := func(ctx context.Context, f durable.Fire) error {
		if charged[f.Key()] {
			fmt.Println("attempt", f.Attempt, "finds that it was charged")
			return nil
		}
		charged[f.Key()] = true // in the transaction that charges
		fmt.Println("attempt", f.Attempt, "charges")
		return nil
	}

	f := durable.Fire{Timer: durable.Timer{ID: "rent-of-may", Rev: 4711}, Attempt: 1}
	check(charge(context.Background(), f))
	f.Attempt = 2 // after a crash
	check(charge(context.Background(), f))
	// Output:
	// attempt 1 charges
	// attempt 2 finds that it was charged
}
