package storetest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/storetest"
)

// A program schedules a reminder and crashes. The reminder is there when it runs again.
func Example() {
	store := storetest.NewMemory()
	clock := foliot.NewManualClock(time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC))
	s, err := durable.New(store, durable.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	_, err = s.Schedule(ctx, durable.Timer{ID: "order-17", At: clock.Now().Add(time.Hour), Kind: "remind"})
	if err != nil {
		panic(err)
	}

	store.Crash()
	store = store.Reopen()

	if s, err = durable.New(store, durable.Options{Clock: clock}); err != nil {
		panic(err)
	}
	handled := make(chan struct{})
	s.Handle("remind", func(_ context.Context, f durable.Fire) error {
		fmt.Println("remind", f.ID, "at", f.At.UTC().Format(time.TimeOnly))
		close(handled)
		return nil
	})
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	clock.Advance(time.Hour)
	<-handled
	stop()
	fmt.Println(<-ended)
	// Output:
	// remind order-17 at 13:00:00
	// <nil>
}
