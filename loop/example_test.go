package loop_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// Callbacks of CallSoon come first, then timers by deadline.
func Example() {
	l := loop.New(loop.Options{})
	l.CallLater(2*time.Millisecond, func() { fmt.Println("two") })
	l.CallLater(time.Millisecond, func() { fmt.Println("one") })
	l.CallSoon(func() { fmt.Println("soon") })
	if err := l.RunUntilIdle(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// soon
	// one
	// two
}

// Run runs the loop until Stop is called.
func ExampleLoop_Run() {
	l := loop.New(loop.Options{Clock: loop.Virtual(0)})
	var tick func()
	tick = func() {
		fmt.Println("tick at", l.Time())
		if l.Time() == 3*time.Second {
			l.Stop()
			return
		}
		l.CallLater(time.Second, tick)
	}
	l.CallLater(time.Second, tick)
	fmt.Println(l.Run(context.Background()))
	// Output:
	// tick at 1s
	// tick at 2s
	// tick at 3s
	// <nil>
}

// Hold keeps RunUntilIdle waiting until another goroutine has posted its result.
func ExampleLoop_Hold() {
	l := loop.New(loop.Options{})
	l.CallSoon(func() {
		release := l.Hold()
		go func() {
			defer release() // after Post
			answer := 6 * 7
			l.Post(func() { fmt.Println("the answer is", answer) })
		}()
	})
	fmt.Println(l.RunUntilIdle(context.Background()))
	// Output:
	// the answer is 42
	// <nil>
}

// A game has its own main loop, and runs one iteration in each frame.
func ExampleLoop_Step() {
	l := loop.New(loop.Options{Clock: loop.Virtual(0)}) // a game would use the default clock
	l.CallLater(20*time.Millisecond, func() { fmt.Println("a door opens") })
	for frame := 1; ; frame++ {
		_, more := l.Step()
		fmt.Println("frame", frame)
		if !more {
			break
		}
	}
	// Output:
	// a door opens
	// frame 1
}

// A year of hourly events is simulated at once.
func ExampleVirtual() {
	l := loop.New(loop.Options{Clock: loop.Virtual(0)})
	hours := 0
	var hourly func()
	hourly = func() {
		if hours++; hours < 365*24 {
			l.CallLater(time.Hour, hourly)
		}
	}
	l.CallLater(time.Hour, hourly)
	l.RunUntilIdle(context.Background())
	fmt.Println(hours, "events until", l.Time())
	// Output: 8760 events until 8760h0m0s
}

// Post may be called from any goroutine. The callbacks run on one goroutine, and so they
// need no lock.
func ExampleLoop_Post() {
	l := loop.New(loop.Options{})
	sum := 0
	var wg sync.WaitGroup
	for i := 1; i <= 10; i++ {
		wg.Go(func() { l.Post(func() { sum += i }) })
	}
	go func() {
		wg.Wait()
		l.Stop()
	}()
	l.Run(context.Background())
	l.RunUntilIdle(context.Background()) // calls what was posted just before Stop
	fmt.Println(sum)
	// Output: 55
}

func ExampleHandle_Cancel() {
	l := loop.New(loop.Options{})
	timeout := l.CallLater(time.Minute, func() { fmt.Println("timeout") })
	l.CallSoon(func() {
		fmt.Println("answered, the timeout is cancelled:", timeout.Cancel())
		fmt.Println("and again:", timeout.Cancel())
	})
	l.RunUntilIdle(context.Background())
	// Output:
	// answered, the timeout is cancelled: true
	// and again: false
}

// A periodic callback that counts from When of its last call keeps its phase.
func ExampleLoop_CallAt() {
	l := loop.New(loop.Options{Clock: loop.Virtual(0)})
	var h loop.Handle
	n := 0
	var tick func()
	tick = func() {
		fmt.Println("tick for", h.When())
		if n++; n < 3 {
			h = l.CallAt(h.When()+time.Second, tick)
		}
	}
	h = l.CallAt(time.Second, tick)
	l.RunUntilIdle(context.Background())
	// Output:
	// tick for 1s
	// tick for 2s
	// tick for 3s
}

// A batch counts all delays from the same moment.
func ExampleLoop_CallLaterBatch() {
	l := loop.New(loop.Options{Clock: loop.Virtual(0)})
	handles := l.CallLaterBatch(nil, []loop.Call{
		{After: 2 * time.Second, Func: func() { fmt.Println("two") }},
		{After: time.Second, Func: func() { fmt.Println("one") }},
		{After: 3 * time.Second, Func: func() { fmt.Println("three") }},
	})
	handles[2].Cancel()
	l.RunUntilIdle(context.Background())
	// Output:
	// one
	// two
}

// Callbacks that are posted together are called one after the other.
func ExampleLoop_PostBatch() {
	l := loop.New(loop.Options{})
	fmt.Println(l.PostBatch([]func(){
		func() { fmt.Println("first") },
		func() { fmt.Println("second") },
	}))
	l.RunUntilIdle(context.Background())
	// Output:
	// <nil>
	// first
	// second
}

// A closed loop calls nothing any more.
func ExampleLoop_Close() {
	l := loop.New(loop.Options{})
	h := l.CallSoon(func() { fmt.Println("not called") })
	fmt.Println(l.Close(), h.Pending())
	fmt.Println(l.Run(context.Background()))
	fmt.Println(l.Post(func() {}))
	// Output:
	// <nil> false
	// loop: closed
	// loop: closed
}

// Stats is for goroutines that watch a loop. It does not wake the loop.
func ExampleLoop_Stats() {
	l := loop.New(loop.Options{Clock: loop.Virtual(0)})
	l.CallLater(time.Second, func() {})
	l.CallLater(time.Minute, func() {})
	l.Step()
	st := l.Stats()
	fmt.Println(st.Timers, "timer, due in", st.Next)
	// Output: 1 timer, due in 59s
}
