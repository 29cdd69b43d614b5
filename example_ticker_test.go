package foliot_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliot-go/foliot"
)

// manualRuntime makes a runtime on a manual clock that shows midnight.
func manualRuntime() (*foliot.Runtime, *foliot.ManualClock) {
	clock := foliot.NewManualClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	return rt, clock
}

// A heartbeat every ten seconds, until the connection is closed.
func ExampleRuntime_Every() {
	rt, clock := manualRuntime()
	beat, err := rt.Every(10*time.Second, func() { fmt.Println("beat at", rt.Now().Format(time.TimeOnly)) })
	if err != nil {
		panic(err)
	}
	defer beat.Free()
	clock.Advance(25 * time.Second)
	beat.Reset(time.Minute) // less often from now on
	clock.Advance(2 * time.Minute)
	// Output:
	// beat at 00:00:10
	// beat at 00:00:20
	// beat at 00:01:25
	// beat at 00:02:25
}

// A test moves the clock of a ticker from one tick to the next.
func ExampleRuntime_NewTicker() {
	rt, clock := manualRuntime()
	ticker, err := rt.NewTicker(time.Hour)
	if err != nil {
		panic(err)
	}
	defer ticker.Stop()
	for range 3 {
		clock.Advance(time.Hour)
		fmt.Println((<-ticker.C).Format(time.TimeOnly))
	}
	// Output:
	// 01:00:00
	// 02:00:00
	// 03:00:00
}

// After Reset, a tick that was sent before is not received.
func ExampleTicker_Reset() {
	rt, clock := manualRuntime()
	ticker, err := rt.NewTicker(time.Hour)
	if err != nil {
		panic(err)
	}
	clock.Advance(time.Hour)
	ticker.Reset(time.Minute)
	clock.Advance(time.Minute)
	fmt.Println((<-ticker.C).Format(time.TimeOnly))
	// Output: 01:01:00
}

// A select that waits for a reply or for the time.
func ExampleRuntime_NewChanTimer() {
	rt, clock := manualRuntime()
	replies := make(chan string)
	timeout, err := rt.NewChanTimer(5 * time.Second)
	if err != nil {
		panic(err)
	}
	defer timeout.Stop()
	clock.Advance(5 * time.Second)
	select {
	case reply := <-replies:
		fmt.Println(reply)
	case at := <-timeout.C:
		fmt.Println("timed out at", at.Format(time.TimeOnly))
	}
	// Output: timed out at 00:00:05
}

// Reset takes back a value that was not received, so there is no need to drain the channel.
func ExampleChanTimer_Reset() {
	rt, clock := manualRuntime()
	timer, err := rt.NewChanTimer(time.Second)
	if err != nil {
		panic(err)
	}
	clock.Advance(time.Minute)
	fmt.Println("was armed:", timer.Reset(time.Second))
	clock.Advance(time.Second)
	fmt.Println((<-timer.C).Format(time.TimeOnly))
	// Output:
	// was armed: true
	// 00:01:01
}

// Code that asks the runtime for the time can be tested on a manual clock.
func ExampleRuntime_Now() {
	rt, clock := manualRuntime()
	since := rt.Now()
	clock.Advance(90 * time.Minute)
	fmt.Println(rt.Now().Sub(since))
	// Output: 1h30m0s
}

// A context whose deadline is on a manual clock. Contexts of the standard library below it end with
// it.
func ExampleRuntime_WithTimeout() {
	rt, clock := manualRuntime()
	ctx, cancel := rt.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	child, cancelChild := context.WithCancel(ctx)
	defer cancelChild()
	clock.Advance(time.Minute)
	<-child.Done()
	fmt.Println(child.Err())
	// Output: context deadline exceeded
}

func ExampleRuntime_WithTimeoutCause() {
	rt, clock := manualRuntime()
	ctx, cancel := rt.WithTimeoutCause(context.Background(), time.Minute, errors.New("the disk is slow"))
	defer cancel()
	clock.Advance(time.Minute)
	fmt.Println(ctx.Err(), "because", context.Cause(ctx))
	// Output: context deadline exceeded because the disk is slow
}

// Shutdown ends the contexts of its runtime.
func ExampleRuntime_WithDeadline() {
	rt, _ := manualRuntime()
	ctx, cancel := rt.WithDeadline(context.Background(), rt.Now().Add(time.Hour))
	defer cancel()
	armed, err := rt.Shutdown(context.Background())
	fmt.Println(armed, err)
	fmt.Println(ctx.Err(), errors.Is(context.Cause(ctx), foliot.ErrClosed))
	// Output:
	// 1 <nil>
	// context canceled true
}

// The cause says which of several deadlines has passed.
func ExampleRuntime_WithDeadlineCause() {
	rt, clock := manualRuntime()
	shift := rt.Now().Add(8 * time.Hour)
	day, cancelDay := rt.WithDeadlineCause(context.Background(), shift, errors.New("the shift is over"))
	defer cancelDay()
	job, cancelJob := rt.WithTimeoutCause(day, 9*time.Hour, errors.New("the job takes too long"))
	defer cancelJob()
	clock.Advance(12 * time.Hour)
	fmt.Println(context.Cause(job))
	// Output: the shift is over
}

// After Stop, a tick that was sent before is not received.
func ExampleTicker_Stop() {
	rt, clock := manualRuntime()
	ticker, err := rt.NewTicker(time.Hour)
	if err != nil {
		panic(err)
	}
	clock.Advance(time.Hour)
	ticker.Stop()
	select {
	case <-ticker.C:
		fmt.Println("a stale tick")
	default:
		fmt.Println("no tick")
	}
	// Output: no tick
}

// A reply that comes in time stops the timer. A second Stop finds nothing to stop.
func ExampleChanTimer_Stop() {
	rt, _ := manualRuntime()
	reply := make(chan string, 1)
	reply <- "pong"
	timeout, err := rt.NewChanTimer(5 * time.Second)
	if err != nil {
		panic(err)
	}
	select {
	case text := <-reply:
		fmt.Println(text, timeout.Stop(), timeout.Stop())
	case <-timeout.C:
		fmt.Println("timed out")
	}
	// Output: pong true false
}
