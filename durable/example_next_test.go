package durable_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/storetest"
)

// A report every day at three o'clock, also on the days on which the clocks change.
func ExampleScheduler_HandleNext() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	check(err)
	atThree := func(_ durable.Timer, after time.Time) time.Time {
		y, m, d := after.In(berlin).Date()
		next := time.Date(y, m, d, 3, 0, 0, 0, berlin)
		if !next.After(after) {
			next = time.Date(y, m, d+1, 3, 0, 0, 0, berlin)
		}
		return next
	}

	clock := foliot.NewManualClock(time.Date(2026, 10, 24, 3, 0, 0, 0, berlin))
	s, err := durable.New(storetest.NewMemory(), durable.Options{Clock: clock})
	check(err)
	began := make(chan bool, 3)
	s.HandleNext("report", func(_ context.Context, f durable.Fire) error {
		fmt.Println(f.At.In(berlin).Format("Mon 02 Jan 15:04 MST"))
		began <- true
		return nil
	}, atThree)

	ctx, stop := context.WithCancel(context.Background())
	_, err = s.Schedule(ctx, durable.Timer{ID: "report", Kind: "report", ByNext: true, At: clock.Now()})
	check(err)
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	<-began
	clock.Advance(2 * 25 * time.Hour)
	stop()
	check(<-ended)
	// Output:
	// Sat 24 Oct 03:00 CEST
	// Sun 25 Oct 03:00 CET
	// Mon 26 Oct 03:00 CET
}

// A handler whose server says when to come back.
func ExampleRetryAfter() {
	s, err := durable.New(storetest.NewMemory(), durable.Options{Retry: durable.Retry{Min: time.Hour}})
	check(err)
	ctx, stop := context.WithCancel(context.Background())
	s.Handle("call", func(_ context.Context, f durable.Fire) error {
		fmt.Println("attempt", f.Attempt)
		if f.Attempt == 1 {
			return durable.RetryAfter(errors.New("503 Service Unavailable"), 20*time.Millisecond)
		}
		stop()
		return nil
	})
	_, err = s.Schedule(ctx, durable.Timer{ID: "call", Kind: "call", At: time.Now()})
	check(err)
	check(s.Run(ctx))
	// Output:
	// attempt 1
	// attempt 2
}

// A handler whose server is full. However often that happens, it uses no attempt.
func ExamplePostpone() {
	s, err := durable.New(storetest.NewMemory(), durable.Options{Retry: durable.Retry{Attempts: 1}})
	check(err)
	ctx, stop := context.WithCancel(context.Background())
	free := 0 // places of the server
	s.Handle("send", func(_ context.Context, f durable.Fire) error {
		if free == 0 {
			fmt.Println("the server is full, attempt", f.Attempt)
			free = 1
			return durable.Postpone(errors.New("the server is full"), 20*time.Millisecond)
		}
		fmt.Println("sent, attempt", f.Attempt)
		stop()
		return nil
	})
	_, err = s.Schedule(ctx, durable.Timer{ID: "mail", Kind: "send", At: time.Now()})
	check(err)
	check(s.Run(ctx))
	// Output:
	// the server is full, attempt 1
	// sent, attempt 1
}
