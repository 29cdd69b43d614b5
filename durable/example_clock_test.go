package durable_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/local"
	"github.com/foliot-go/foliot/durable/storetest"
)

// A periodic timer stays on its grid. After downtime its missed occurrences are one Fire.
func Example_periodic() {
	dir, err := os.MkdirTemp("", "timers")
	check(err)
	defer os.RemoveAll(dir)
	store, err := local.Open(dir, local.Options{})
	check(err)
	defer store.Close()

	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	clock := foliot.NewManualClock(noon.Add(3*time.Hour + 20*time.Minute)) // the process was away until then
	s, err := durable.New(store, durable.Options{Clock: clock})
	check(err)
	fires := make(chan durable.Fire)
	s.Handle("report", func(ctx context.Context, f durable.Fire) error {
		fires <- f
		return nil
	})
	ctx, stop := context.WithCancel(context.Background())
	_, err = s.Schedule(ctx, durable.Timer{ID: "hourly-report", At: noon, Every: time.Hour, Kind: "report"})
	check(err)
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()

	f := <-fires
	fmt.Println(f.At.UTC().Format("15:04"), "late by", f.Late, "missed", f.Missed)
	clock.Advance(40 * time.Minute)
	f = <-fires
	fmt.Println(f.At.UTC().Format("15:04"), "late by", f.Late, "missed", f.Missed)
	stop()
	check(<-ended)
	// Output:
	// 15:00 late by 20m0s missed 3
	// 16:00 late by 0s missed 0
}

// One timer for each cart: its handler sends a reminder and schedules the next one under the same ID, as
// its last step. The timer that is being handled is replaced by that. After a crash before it, the
// handler is called again.
func Example_series() {
	store := storetest.NewMemory() // in a program: local.Open
	defer store.Close()
	clock := foliot.NewManualClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	s, err := durable.New(store, durable.Options{Clock: clock})
	check(err)
	pauses := []time.Duration{time.Hour, 24 * time.Hour} // between the reminders
	sent := make(chan string)
	s.Handle("remind", func(ctx context.Context, f durable.Fire) error {
		n := int(f.Payload[0]) // reminders sent before
		sent <- fmt.Sprintf("reminder %d for %s at %s", n+1, f.ID, f.At.UTC().Format("Jan 2 15:04"))
		if n == len(pauses) {
			return nil // that was the last one
		}
		next := f.Timer
		next.At = f.At.Add(pauses[n])
		next.Payload = []byte{byte(n + 1)}
		_, err := s.Schedule(ctx, next)
		sent <- "the next one is scheduled"
		return err
	})
	ctx, stop := context.WithCancel(context.Background())
	_, err = s.Schedule(ctx, durable.Timer{ID: "cart-17", At: clock.Now(), Kind: "remind", Payload: []byte{0}})
	check(err)
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()

	for _, pause := range pauses {
		fmt.Println(<-sent)
		<-sent
		clock.Advance(pause)
	}
	fmt.Println(<-sent)
	stop()
	check(<-ended)
	// Output:
	// reminder 1 for cart-17 at Jan 1 12:00
	// reminder 2 for cart-17 at Jan 1 13:00
	// reminder 3 for cart-17 at Jan 2 13:00
}

// With a ManualClock a test of a year takes no time. Run must have begun before the clock is moved: a
// timer that is due at once says so.
func Example_manualClock() {
	dir, err := os.MkdirTemp("", "timers") // in a test: t.TempDir()
	check(err)
	defer os.RemoveAll(dir)
	store, err := local.Open(dir, local.Options{NoSync: true})
	check(err)
	defer store.Close()

	clock := foliot.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	s, err := durable.New(store, durable.Options{Clock: clock})
	check(err)
	begun, renewed := make(chan bool), make(chan string, 1)
	s.Handle("begin", func(context.Context, durable.Fire) error { close(begun); return nil })
	s.Handle("renew", func(ctx context.Context, f durable.Fire) error {
		renewed <- f.ID + " in " + clock.Now().UTC().Format("2006")
		return nil
	})
	ctx, stop := context.WithCancel(context.Background())
	_, err = s.ScheduleBatch(ctx, []durable.Timer{
		{ID: "begin", At: clock.Now(), Kind: "begin"},
		{ID: "subscription-5", At: clock.Now().AddDate(1, 0, 0), Kind: "renew"},
	})
	check(err)
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	<-begun

	clock.Advance(366 * 24 * time.Hour) // returns when the handlers have started
	fmt.Println("renewed", <-renewed)
	stop()
	check(<-ended)
	// Output: renewed subscription-5 in 2027
}
