package foliot_test

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot-go/foliot"
)

// Values come out when their time has come, in the order of their deadlines. Until then
// they can be put off or taken out.
func ExampleQueue() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	q := foliot.NewQueue[string](rt)
	q.Push(3*time.Minute, "eggs")
	q.Push(2*time.Minute, "tea")
	q.Push(time.Hour, "bread")
	call, _ := q.Push(time.Minute, "phone call")
	toast, _ := q.Push(time.Minute, "toast")
	fmt.Println("put off:", q.Reset(call, 4*time.Minute))
	fmt.Println(q.Remove(toast))

	clock.Advance(5 * time.Minute)
	due := make([]string, 10)
	n, err := q.Wait(context.Background(), due)
	fmt.Println(due[:n], err, "left:", q.Len())
	// Output:
	// put off: true
	// toast true
	// [tea eggs phone call] <nil> left: 1
}

// A program that was down for a while loads its reminders. Those that it has missed come first,
// by their deadlines, whatever the order of loading is.
func ExampleQueue_PushAt() {
	clock := foliot.NewManualClock(time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC))
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	q := foliot.NewQueue[string](rt)
	today := clock.Now().Truncate(24 * time.Hour)
	q.PushAt(today.Add(11*time.Hour), "call the bank")
	q.PushAt(today.Add(13*time.Hour), "lunch")
	q.PushAt(today.Add(9*time.Hour), "stand-up")

	due := make([]string, 10)
	fmt.Println("missed:", due[:q.TryWait(due)])
	clock.Advance(time.Hour)
	fmt.Println("now:", due[:q.TryWait(due)])
	// Output:
	// missed: [stand-up call the bank]
	// now: [lunch]
}

// A loop that has other things to do takes what is due in each round.
func ExampleQueue_TryWait() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	q := foliot.NewQueue[string](rt)
	q.Push(time.Second, "respawn")
	q.Push(1500*time.Millisecond, "end of round")
	due := make([]string, 10)
	for frame := range 3 {
		fmt.Println(frame, due[:q.TryWait(due)])
		clock.Advance(time.Second)
	}
	// Output:
	// 0 []
	// 1 [respawn]
	// 2 [end of round]
}

// How long a program can sleep, or what it should say about its queue.
func ExampleQueue_Peek() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	q := foliot.NewQueue[string](rt)
	q.Push(time.Hour, "backup")
	q.Push(time.Minute, "heartbeat")
	if at, next, ok := q.Peek(); ok {
		fmt.Println(next, "in", at.Sub(clock.Now()))
	}
	// Output: heartbeat in 1m0s
}

// A program counts the values that are due much later.
func ExampleQueue_All() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	q := foliot.NewQueue[string](rt)
	q.Push(time.Minute, "tea")
	q.Push(time.Hour, "bread")
	q.Push(2*time.Hour, "roast")
	long := 0
	for at := range q.All() {
		if at.Sub(clock.Now()) >= time.Hour {
			long++
		}
	}
	fmt.Println(long, "of", q.Len(), "take an hour or more")
	// Output: 2 of 3 take an hour or more
}

// After Shutdown the values are still in the queue. The program saves them for its next start.
func ExampleQueue_Drain() {
	clock := foliot.NewManualClock(time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC))
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	q := foliot.NewQueue[string](rt)
	q.Push(2*time.Hour, "retry order 17")
	q.Push(time.Hour, "retry order 3")
	armed, err := rt.Shutdown(context.Background())
	fmt.Println(armed, err)
	for at, what := range q.Drain() {
		fmt.Println(at.Format(time.TimeOnly), what)
	}
	fmt.Println("left:", q.Len())
	// Output:
	// 2 <nil>
	// 13:00:00 retry order 3
	// 14:00:00 retry order 17
	// left: 0
}

// A worker fetches values until the runtime is shut down. What is left then is saved.
func ExampleQueue_Wait() {
	rt, clock := manualRuntime()
	q := foliot.NewQueue[string](rt)
	q.Push(time.Second, "first")
	q.Push(2*time.Second, "second")
	q.Push(time.Hour, "much later")
	clock.Advance(5 * time.Second)

	fetched := make(chan string)
	go func() {
		defer close(fetched)
		buf := make([]string, 16)
		for {
			n, err := q.Wait(context.Background(), buf)
			if err != nil {
				return // the runtime is shut down
			}
			for _, job := range buf[:n] {
				fetched <- job
			}
		}
	}()
	fmt.Println(<-fetched)
	fmt.Println(<-fetched)
	rt.Shutdown(context.Background())
	<-fetched // the worker has returned
	for at, job := range q.Drain() {
		fmt.Println("save", job, "for", at.Format(time.TimeOnly))
	}
	// Output:
	// first
	// second
	// save much later for 01:00:00
}

// A job that fails is due again later. Its handle stays valid until the job is fetched.
func ExampleQueue_Reset() {
	rt, clock := manualRuntime()
	q := foliot.NewQueue[string](rt)
	job, err := q.Push(time.Second, "send mail")
	if err != nil {
		panic(err)
	}
	fmt.Println(q.Reset(job, time.Minute))
	clock.Advance(time.Minute)
	due := make([]string, 1)
	fmt.Println(q.TryWait(due), due)
	fmt.Println(q.Reset(job, time.Minute)) // it was fetched
	// Output:
	// true
	// 1 [send mail]
	// false
}

// A job that is no longer wanted is removed. A second Remove finds nothing.
func ExampleQueue_Remove() {
	rt, _ := manualRuntime()
	q := foliot.NewQueue[string](rt)
	job, err := q.Push(time.Minute, "send mail")
	if err != nil {
		panic(err)
	}
	fmt.Println(q.Remove(job))
	_, ok := q.Remove(job)
	fmt.Println(ok, q.Len())
	// Output:
	// send mail true
	// false 0
}
