package clock_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/clock"
)

// A heartbeat reports at regular intervals. It gets its clock from the program.
type heartbeat struct {
	clock clock.Clock
	beats chan time.Time
}

func (h *heartbeat) run(ctx context.Context) {
	ticker := h.clock.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.Chan():
			h.beats <- h.clock.Now()
		case <-ctx.Done():
			return
		}
	}
}

// The program gives its parts a real clock, and a test gives them a Fake.
func Example() {
	fake := clock.NewFake()
	h := &heartbeat{fake, make(chan time.Time)} // the program has clock.Real() here
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { h.run(ctx) })

	fake.BlockUntil(1) // the ticker is made
	for range 2 {
		fake.Advance(time.Minute)
		fmt.Println((<-h.beats).Format(time.TimeOnly))
	}
	cancel()
	wg.Wait()
	// Output:
	// 00:01:00
	// 00:02:00
}

func ExampleReal() {
	c := clock.Real()
	began := c.Now()
	c.Sleep(time.Millisecond)
	fmt.Println(c.Since(began) >= time.Millisecond)
	// Output: true
}

// The timers of a program that takes a clock are those of a runtime here.
func ExampleOn() {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rt.Shutdown(context.Background())
	c := clock.On(rt)
	timer := c.AfterFunc(time.Hour, func() { fmt.Println("too late") })
	fmt.Println(rt.Stats().Armed, timer.Stop())
	// Output: 1 true
}

func ExampleNewFake() {
	fake := clock.NewFake(time.Date(2026, 12, 31, 23, 59, 0, 0, time.UTC))
	fake.AfterFunc(time.Minute, func() { fmt.Println("happy new year", fake.Now().Year()) })
	fake.Advance(time.Hour)
	fmt.Println(fake.Now().Format(time.TimeOnly))
	// Output:
	// happy new year 2027
	// 00:59:00
}

// Functions run in the order of their deadlines, and have returned when Advance returns.
func ExampleFake_Advance() {
	fake := clock.NewFake()
	began := fake.Now()
	fake.AfterFunc(2*time.Second, func() { fmt.Println("second", fake.Since(began)) })
	fake.AfterFunc(time.Second, func() {
		fmt.Println("first", fake.Since(began))
		fake.AfterFunc(2*time.Second, func() { fmt.Println("third", fake.Since(began)) })
	})
	fake.Advance(10 * time.Second)
	fmt.Println(fake.Since(began))
	// Output:
	// first 1s
	// second 2s
	// third 3s
	// 10s
}

// A retry waits longer and longer. The test need not know how long.
func ExampleFake_AdvanceToNext() {
	fake := clock.NewFake()
	var wg sync.WaitGroup
	wg.Go(func() {
		for wait := time.Second; wait < 8*time.Second; wait *= 2 {
			fake.Sleep(wait)
		}
	})
	for range 3 {
		fake.BlockUntil(1)
		d, _ := fake.AdvanceToNext()
		fmt.Println("the retry has waited for", d)
	}
	wg.Wait()
	_, ok := fake.AdvanceToNext()
	fmt.Println(ok)
	// Output:
	// the retry has waited for 1s
	// the retry has waited for 2s
	// the retry has waited for 4s
	// false
}

// A goroutine must have come to its Sleep before the clock moves.
func ExampleFake_BlockUntil() {
	fake := clock.NewFake()
	done := make(chan struct{})
	go func() {
		fake.Sleep(time.Hour)
		close(done)
	}()
	fake.BlockUntil(1)      // the goroutine sleeps
	fake.Advance(time.Hour) // wakes it
	<-done
	fmt.Println("an hour has passed")
	// Output: an hour has passed
}

// A test that could wait in vain gives up when its context ends.
func ExampleFake_BlockUntilContext() {
	fake := clock.NewFake()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	fmt.Println(fake.BlockUntilContext(ctx, 1))
	// Output: context deadline exceeded
}

func ExampleFake_Waiters() {
	fake := clock.NewFake()
	timer := fake.NewTimer(time.Second)
	_, cancel := fake.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(fake.Waiters())
	timer.Stop()
	fmt.Println(fake.Waiters())
	// Output:
	// 2
	// 1
}

func ExampleFake_WithTimeout() {
	fake := clock.NewFake()
	ctx, cancel := fake.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fake.Advance(59 * time.Second)
	fmt.Println(ctx.Err())
	fake.Advance(time.Second)
	fmt.Println(ctx.Err())
	// Output:
	// <nil>
	// context deadline exceeded
}

// A debouncer calls its function when nothing has happened for a second. When Advance returns, the
// function has returned.
func ExampleFake_AfterFunc() {
	fake := clock.NewFake()
	save := fake.AfterFunc(time.Second, func() { fmt.Println("saved at", fake.Now().Format(time.TimeOnly)) })
	for range 3 {
		fake.Advance(900 * time.Millisecond)
		save.Reset(time.Second) // a key was pressed
	}
	fake.Advance(2 * time.Second)
	// Output: saved at 00:00:03
}

// An Advance over several periods leaves one tick. So a test that wants each of them advances by one.
func ExampleFake_NewTicker() {
	fake := clock.NewFake()
	ticker := fake.NewTicker(time.Second)
	defer ticker.Stop()
	fake.Advance(3 * time.Second)
	fmt.Println((<-ticker.Chan()).Format(time.TimeOnly))
	for range 2 {
		fake.AdvanceToNext()
		fmt.Println((<-ticker.Chan()).Format(time.TimeOnly))
	}
	// Output:
	// 00:00:01
	// 00:00:04
	// 00:00:05
}

func ExampleFake_NewTimer() {
	fake := clock.NewFake()
	timer := fake.NewTimer(time.Minute)
	fmt.Println(timer.Reset(time.Hour)) // it was armed
	fake.Advance(time.Hour)
	fmt.Println((<-timer.Chan()).Format(time.TimeOnly))
	fmt.Println(timer.Stop()) // it has fired
	// Output:
	// true
	// 01:00:00
	// false
}

// A Fake that begins at the real time can give contexts to code that reads their deadlines, such as
// package net.
func ExampleFake_WithDeadline() {
	fake := clock.NewFake(time.Now())
	ctx, cancel := fake.WithDeadline(context.Background(), fake.Now().Add(time.Hour))
	defer cancel()
	deadline, _ := ctx.Deadline()
	fmt.Println(time.Until(deadline) > 0, ctx.Err())
	fake.Advance(time.Hour)
	fmt.Println(ctx.Err())
	// Output:
	// true <nil>
	// context deadline exceeded
}

func ExampleFake_Sleep() {
	fake := clock.NewFake()
	var wg sync.WaitGroup
	wg.Go(func() {
		fake.Sleep(time.Hour)
		fmt.Println("slept until", fake.Now().Format(time.TimeOnly))
	})
	fake.BlockUntil(1)
	fake.Advance(time.Hour)
	wg.Wait()
	// Output: slept until 01:00:00
}

// A sleep that ends with its context needs no timer and no select.
func ExampleFake_SleepContext() {
	fake := clock.NewFake()
	ctx, cancel := fake.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done := make(chan error)
	go func() { done <- fake.SleepContext(ctx, time.Hour) }()
	fake.BlockUntil(2) // the context and the sleep
	fake.Advance(time.Minute)
	fmt.Println(<-done)
	// Output: context deadline exceeded
}

// A test waits for the deadline that it is about, whatever else waits on the clock.
func ExampleFake_BlockUntilDeadline() {
	fake := clock.NewFake()
	go fake.Sleep(time.Hour)
	go fake.Sleep(time.Minute)
	in := fake.Now().Add(time.Hour)
	if err := fake.BlockUntilDeadline(context.Background(), in); err != nil {
		fmt.Println(err)
	}
	fake.BlockUntil(2)
	next, _ := fake.Next()
	fmt.Println(next.Format(time.TimeOnly))
	// Output: 00:01:00
}
