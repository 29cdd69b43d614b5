package foliot_test

import (
	"context"
	"errors"
	"expvar"
	"fmt"
	"log"
	"runtime"
	"sync"
	"time"
	"weak"

	"github.com/foliot-go/foliot"
)

func Example() {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		panic(err)
	}
	defer rt.Shutdown(context.Background())

	done := make(chan bool)
	rt.AfterFunc(time.Millisecond, func() { done <- true })
	late, _ := rt.AfterFunc(time.Hour, func() { fmt.Println("never seen") })

	<-done
	fmt.Println("stopped:", late.Stop())
	// Output: stopped: true
}

// A session is closed after a minute without a message.
func Example_readme() {
	session := newSession("hello", "how are you?")
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	idle, err := rt.AfterFunc(time.Minute, session.Close)
	if err != nil {
		log.Fatal(err) // too many timers, or the runtime has been shut down
	}
	for message := range session.Messages {
		idle.Reset(time.Minute) // pushes the deadline back
		fmt.Println(message)
	}
	idle.Stop() // true: Close will not be called
	// Output:
	// hello
	// how are you?
}

// A readmeSession has messages, and a Close that must not be called.
type readmeSession struct{ Messages chan string }

func newSession(messages ...string) *readmeSession {
	s := &readmeSession{make(chan string, len(messages))}
	for _, m := range messages {
		s.Messages <- m
	}
	close(s.Messages)
	return s
}

func (s *readmeSession) Close() { log.Fatal("the session was idle for a minute") }

// A timeout that is pushed back whenever something is read, for as long as the connection
// lives.
func ExampleRuntime_NewTimer() {
	clock := foliot.NewManualClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	idle, err := rt.NewTimer(func() { fmt.Println("idle since", clock.Now().Add(-time.Minute).Format(time.TimeOnly)) })
	if err != nil {
		panic(err)
	}
	for range 3 { // a read every 50 seconds
		idle.Reset(time.Minute)
		clock.Advance(50 * time.Second)
	}
	clock.Advance(time.Hour)
	fmt.Println("freed:", idle.Free())
	// Output:
	// idle since 00:01:40
	// freed: true
}

// A request has a deadline, and either the reply or the deadline completes it: Stop says
// which.
func ExampleTimer_Stop() {
	rt := foliot.Default()
	result := make(chan string, 1)
	deadline, err := rt.AfterFunc(time.Minute, func() { result <- "timed out" })
	if err != nil {
		panic(err)
	}
	reply := func(text string) {
		if deadline.Stop() { // true: the callback will not run, the result is ours to give
			result <- text
		}
	}
	reply("hello")
	fmt.Println(<-result)
	// Output: hello
}

func ExampleRuntime_AfterFuncBatch() {
	rt := foliot.Default()
	var wg sync.WaitGroup
	var calls []foliot.Call
	for i := range 1000 {
		wg.Add(1)
		calls = append(calls, foliot.Call{After: time.Duration(i) * time.Microsecond, Func: wg.Done})
	}
	timers, err := rt.AfterFuncBatch(nil, calls)
	if err != nil {
		panic(err) // then none of them is armed
	}
	wg.Wait()
	fmt.Println(len(timers))
	// Output: 1000
}

// A loop that tries again after a pause, twice as long each time. Unlike time.Sleep, Sleep ends
// when the context does, and leaves no timer behind.
func ExampleRuntime_Sleep() {
	ctx, cancel := context.WithCancel(context.Background())
	attempt := 0
	connect := func() error {
		if attempt++; attempt == 3 {
			cancel()
		}
		return errors.New("connection refused")
	}
	pause := time.Millisecond
	for {
		err := connect()
		if err == nil {
			break
		}
		if ended := foliot.Default().Sleep(ctx, pause); ended != nil {
			fmt.Printf("attempt %d: %v; %v\n", attempt, err, ended)
			break
		}
		pause = min(2*pause, time.Second)
	}
	// Output: attempt 3: connection refused; context canceled
}

// Time that jumps: a test need not wait.
func ExampleManualClock() {
	clock := foliot.NewManualClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	say := func(what string) func() {
		return func() { fmt.Println(clock.Now().Format(time.TimeOnly), what) }
	}
	rt.AfterFunc(2*time.Hour, say("two hours"))
	rt.AfterFunc(time.Hour, func() {
		say("one hour")()
		rt.AfterFunc(30*time.Minute, say("and a half"))
	})
	clock.Advance(3 * time.Hour)
	// Output:
	// 01:00:00 one hour
	// 01:30:00 and a half
	// 02:00:00 two hours
}

func ExampleRuntime_Shutdown() {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		panic(err)
	}
	rt.AfterFunc(time.Hour, func() {})
	rt.AfterFunc(time.Hour, func() {})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	armed, err := rt.Shutdown(ctx) // waits for callbacks that run
	fmt.Println(armed, err)
	_, err = rt.AfterFunc(0, func() {})
	fmt.Println(err)
	// Output:
	// 2 <nil>
	// foliot: the runtime is shut down
}

func ExampleRuntime_Stats() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	for i := range 10 {
		rt.AfterFunc(time.Duration(i)*time.Second, func() {})
	}
	clock.Advance(4 * time.Second)
	st := rt.Stats()
	fmt.Println(st.Fired, "fired,", st.Armed, "armed, at most", st.Late.Max(), "late")
	fmt.Println(st.Ran.Count(), "callbacks took less than a minute:", st.Ran.Sum() < time.Minute)
	// Output:
	// 5 fired, 5 armed, at most 0s late
	// 5 callbacks took less than a minute: true
}

// Snapshots of the statistics make a rate: how late the timers of the last minute were, not those
// since the start.
func ExampleHistogram_Sub() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	before := rt.Stats().Late
	for minute := range 3 {
		for i := range 10 * (minute + 1) {
			rt.AfterFunc(time.Duration(i)*time.Second, func() {})
		}
		clock.Advance(time.Minute)
		now := rt.Stats().Late
		added := now.Sub(before)
		fmt.Println(added.Count(), "timers, at most", added.Max(), "late, in total", added.Sum())
		before = now
	}
	// Output:
	// 10 timers, at most 0s late, in total 0s
	// 20 timers, at most 0s late, in total 0s
	// 30 timers, at most 0s late, in total 0s
}

// The sum of Stats.Ran is how long all callbacks took. Divided by the time in which they ran, it says how
// many workers were busy on average.
func ExampleHistogram_Sum() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	for range 3 {
		rt.AfterFunc(time.Second, func() { time.Sleep(time.Millisecond) })
	}
	began := time.Now()
	clock.Advance(time.Minute)
	busy := rt.Stats().Ran.Sum()
	fmt.Println(busy >= 3*time.Millisecond, busy <= time.Since(began))
	// Output: true true
}

// Package expvar shows the Stats at /debug/vars.
func ExampleRuntime_Stats_expvar() {
	expvar.Publish("timers", expvar.Func(func() any { return foliot.Default().Stats() }))
}

// A cache drops its last reference to an entry and calls nothing, so no code can call Free. The
// callback must not keep the entry alive, or it would never be collected: it has a weak pointer. When the
// entry is gone, a cleanup frees the timer.
func ExampleTimer_Free() {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		panic(err)
	}
	type entry struct {
		value   string
		refresh foliot.Timer
	}
	newEntry := func(value string) *entry {
		e := &entry{value: value}
		weakly := weak.Make(e)
		e.refresh, err = rt.NewTimer(func() {
			if e := weakly.Value(); e != nil {
				e.value += " again"
			}
		})
		if err != nil {
			panic(err)
		}
		runtime.AddCleanup(e, func(t foliot.Timer) { t.Free() }, e.refresh)
		e.refresh.Reset(time.Hour)
		return e
	}
	e := newEntry("fresh")
	fmt.Println(e.value, rt.Stats().Timers)
	e = nil
	for rt.Stats().Timers > 0 {
		runtime.GC()
	}
	fmt.Println("gone", rt.Stats().Timers)
	// Output:
	// fresh 1
	// gone 0
}

// A program can keep histograms of its own, here of how long requests took.
func ExampleHistogram_Add() {
	var took foliot.Histogram
	took = took.Add(3*time.Millisecond, 5*time.Millisecond, 40*time.Millisecond)
	fmt.Println(took.Count(), took.Max(), took.Mean())
	// Output: 3 40ms 16ms
}

// A request ends by its reply or by its deadline, whichever comes first. The result of Stop says
// which.
func ExampleRuntime_AfterFunc() {
	rt, clock := manualRuntime()
	for _, takes := range []time.Duration{time.Second, 10 * time.Second} {
		deadline, err := rt.AfterFunc(5*time.Second, func() { fmt.Println("timed out") })
		if err != nil {
			panic(err)
		}
		clock.Advance(takes)
		if deadline.Stop() {
			fmt.Println("in time")
		}
	}
	// Output:
	// in time
	// timed out
}

// A caller that knows the time passes it on, and the clock is not read again.
func ExampleTimer_ResetAt() {
	rt, clock := manualRuntime()
	timer, err := rt.NewTimer(func() { fmt.Println("at", rt.Now().Format(time.TimeOnly)) })
	if err != nil {
		panic(err)
	}
	defer timer.Free()
	now := rt.Now()
	timer.ResetAt(now.Add(time.Minute))
	deadline, armed := timer.Deadline()
	fmt.Println(deadline.Sub(now), armed)
	clock.Advance(time.Hour)
	_, armed = timer.Deadline()
	fmt.Println(armed)
	// Output:
	// 1m0s true
	// at 00:01:00
	// false
}

// The number of workers follows the load. Timers stay armed.
func ExampleRuntime_Resize() {
	rt, err := foliot.New(foliot.Options{Workers: 4})
	if err != nil {
		panic(err)
	}
	timer, err := rt.AfterFunc(time.Hour, func() {})
	if err != nil {
		panic(err)
	}
	fmt.Println(rt.Resize(1), rt.Stats().Workers, timer.Stop())
	// Output: <nil> 1 true
}

// A library that has no runtime of its program uses the one that all share.
func ExampleDefault() {
	done := make(chan bool)
	if _, err := foliot.Default().AfterFunc(time.Millisecond, func() { close(done) }); err != nil {
		panic(err)
	}
	<-done
	_, err := foliot.Default().Shutdown(context.Background())
	fmt.Println(err != nil) // it cannot be shut down
	// Output: true
}

// At the start of main, a program gives the drop-in packages timers that share wake-ups.
func ExampleSetDefault() {
	if err := foliot.SetDefault(foliot.Options{Slack: 10 * time.Millisecond}); err != nil {
		log.Fatal(err)
	}
}

// On a manual clock timers are never late, so all of them are in the first bucket.
func ExampleHistogram_All() {
	rt, clock := manualRuntime()
	for range 3 {
		rt.AfterFunc(time.Second, func() {})
	}
	clock.Advance(time.Second)
	for late, n := range rt.Stats().Late.All() {
		fmt.Println(late, n)
	}
	late := rt.Stats().Late
	fmt.Println(late.Count(), late.Quantile(0.99), late.Mean(), late.Max())
	// Output:
	// 0s 3
	// 3 0s 0s 0s
}

// A goroutine that sleeps again and again is woken once by an Advance. So the test advances by one
// sleep at a time, and waits in between until the goroutine sleeps again.
func ExampleManualClock_Advance() {
	rt, clock := manualRuntime()
	beats := make(chan time.Time)
	go func() {
		for rt.Sleep(context.Background(), time.Minute) == nil {
			beats <- rt.Now()
		}
	}()
	for range 2 {
		for rt.Stats().Armed == 0 {
			runtime.Gosched() // it does not sleep yet
		}
		clock.Advance(time.Minute)
		fmt.Println((<-beats).Format(time.TimeOnly))
	}
	rt.Shutdown(context.Background()) // ends the goroutine
	// Output:
	// 00:01:00
	// 00:02:00
}

// Horizon shows when timers are due. The first bucket has those that are overdue.
func ExampleRuntime_Horizon() {
	clock := foliot.NewManualClock(time.Unix(0, 0))
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	for range 3 {
		rt.AfterFunc(10*time.Second, func() {})
	}
	rt.AfterFunc(time.Hour, func() {})

	withinAMinute := 0
	for _, b := range rt.Horizon() {
		if b.To <= time.Minute {
			withinAMinute += b.Count
		}
	}
	fmt.Println(withinAMinute, "of", rt.Stats().Armed, "timers are due within a minute")
	// Output: 3 of 4 timers are due within a minute
}

func closeIdle() {}

func retry() {}

// Callbacks shows what the timers are for.
func ExampleRuntime_Callbacks() {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		panic(err)
	}
	for range 3 {
		rt.AfterFunc(time.Hour, closeIdle)
	}
	rt.AfterFunc(time.Minute, retry)
	for _, c := range rt.Callbacks(0) {
		fmt.Printf("%3.0f %% %s\n", 100*c.Share, c.Func)
	}
	// Output:
	//  75 % github.com/foliot-go/foliot_test.closeIdle
	//  25 % github.com/foliot-go/foliot_test.retry
}

// Horizon of a queue shows when its values are due.
func ExampleQueue_Horizon() {
	clock := foliot.NewManualClock(time.Unix(0, 0))
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	q := foliot.NewQueue[string](rt)
	q.Push(-time.Second, "overdue")
	q.Push(time.Hour, "later")
	h := q.Horizon()
	fmt.Println(h[0].Count, "of", q.Len(), "values are overdue")
	// Output: 1 of 2 values are overdue
}

// A test advances the clock once the goroutine that it tests waits for it.
func ExampleManualClock_BlockUntil() {
	clock := foliot.NewManualClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	defer rt.Shutdown(context.Background())
	woken := make(chan time.Time)
	go func() {
		for rt.Sleep(context.Background(), time.Minute) == nil {
			woken <- rt.Now()
		}
	}()
	for range 2 {
		clock.BlockUntil(1) // it sleeps
		d, _ := clock.AdvanceToNext()
		fmt.Println(d, (<-woken).Format(time.TimeOnly))
	}
	// Output:
	// 1m0s 00:01:00
	// 1m0s 00:02:00
}
