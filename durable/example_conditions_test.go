package durable_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/local"
)

// IfAbsent keeps the timer that is there. So a request that is repeated does not move its deadline.
func ExampleIfAbsent() {
	ctx := context.Background()
	s, closeStore := openTemporary()
	defer closeStore()

	t := durable.Timer{ID: "trial-of-ann", At: time.Now().Add(14 * 24 * time.Hour), Kind: "end-trial"}
	for range 2 {
		_, err := s.Schedule(ctx, t, durable.IfAbsent())
		switch {
		case errors.Is(err, durable.ErrExists):
			fmt.Println("the trial has begun before")
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println("the trial begins")
		}
	}
	// Output:
	// the trial begins
	// the trial has begun before
}

// IfRev changes a timer only if it has not changed since it was read. So two programs that change a
// timer at the same time do not overwrite each other.
func ExampleIfRev() {
	ctx := context.Background()
	s, closeStore := openTemporary()
	defer closeStore()
	due := time.Now().Add(time.Hour)
	_, err := s.Schedule(ctx, durable.Timer{ID: "order-17", At: due, Kind: "expire"})
	check(err)

	t, _, err := s.Get(ctx, "order-17")
	check(err)
	t.At = t.At.Add(time.Hour)
	rev, err := s.Schedule(ctx, t, durable.IfRev(t.Rev))
	fmt.Println("first extension:", err)
	fmt.Println("greater revision:", rev > t.Rev)

	_, err = s.Schedule(ctx, t, durable.IfRev(t.Rev)) // the revision is an old one now
	fmt.Println("second extension refused:", errors.Is(err, durable.ErrRev))
	ok, err := s.Cancel(ctx, "order-17", durable.IfRev(rev))
	fmt.Println("cancelled:", ok, err)
	// Output:
	// first extension: <nil>
	// greater revision: true
	// second extension refused: true
	// cancelled: true <nil>
}

// Cancel says whether the handler will be called.
func ExampleScheduler_Cancel() {
	ctx := context.Background()
	s, closeStore := openTemporary()
	defer closeStore()
	_, err := s.Schedule(ctx, durable.Timer{ID: "order-17", At: time.Now().Add(time.Hour), Kind: "expire"})
	check(err)

	for range 2 {
		ok, err := s.Cancel(ctx, "order-17")
		check(err)
		if ok {
			fmt.Println("paid in time, the order will not expire")
		} else {
			fmt.Println("there is nothing to cancel: paid before, or expired")
		}
	}
	// Output:
	// paid in time, the order will not expire
	// there is nothing to cancel: paid before, or expired
}

// openTemporary returns a scheduler on a folder that is removed at the end.
func openTemporary() (s *durable.Scheduler, closeStore func()) {
	dir, err := os.MkdirTemp("", "timers")
	check(err)
	store, err := local.Open(dir, local.Options{})
	check(err)
	s, err = durable.New(store, durable.Options{})
	check(err)
	return s, func() {
		check(store.Close())
		check(os.RemoveAll(dir))
	}
}
