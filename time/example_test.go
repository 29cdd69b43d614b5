package time_test

import (
	"fmt"
	"sync"

	"github.com/foliot-go/foliot/time"
)

func ExampleAfterFunc() {
	var done sync.WaitGroup
	done.Add(1)
	time.AfterFunc(time.Millisecond, func() {
		fmt.Println("a millisecond later, on a new goroutine")
		done.Done()
	})
	done.Wait()
	// Output: a millisecond later, on a new goroutine
}

func ExampleAfter() {
	replies := make(chan string)
	select {
	case reply := <-replies:
		fmt.Println(reply)
	case <-time.After(time.Millisecond):
		fmt.Println("no reply")
	}
	// Output: no reply
}

// A channel need not be drained before Reset: a value that was sent before is not received.
func ExampleTimer_Reset() {
	idle := time.NewTimer(0)
	defer idle.Stop()
	for _, line := range []string{"one", "two"} {
		fmt.Println(line)
		fmt.Println("its value was not received:", idle.Reset(time.Millisecond))
	}
	<-idle.C
	fmt.Println("idle")
	fmt.Println("its value was received:", !idle.Reset(time.Hour))
	// Output:
	// one
	// its value was not received: true
	// two
	// its value was not received: true
	// idle
	// its value was received: true
}

func ExampleTimer_Stop() {
	timer := time.AfterFunc(time.Hour, func() { fmt.Println("never") })
	fmt.Println(timer.Stop())
	fmt.Println(timer.Stop())
	// Output:
	// true
	// false
}

func ExampleNewTicker() {
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for n := range 3 {
		<-ticker.C
		fmt.Println("tick", n)
	}
	// Output:
	// tick 0
	// tick 1
	// tick 2
}

// A ticker that is not needed any more need not be stopped: when its channel is unreachable,
// the ticker is garbage collected.
func ExampleTick() {
	n := 0
	for range time.Tick(time.Millisecond) {
		if n++; n == 3 {
			break
		}
	}
	fmt.Println(n, "ticks")
	// Output: 3 ticks
}

// All types but Timer and Ticker are those of the standard package.
func ExampleDuration() {
	start := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	fmt.Println(start.Add(90 * time.Minute).Format(time.Kitchen))
	// Output: 1:30PM
}

func ExampleSleep() {
	began := time.Now()
	time.Sleep(2 * time.Millisecond)
	fmt.Println(time.Since(began) >= 2*time.Millisecond)
	// Output: true
}

func ExampleNewTimer() {
	timer := time.NewTimer(time.Millisecond)
	<-timer.C
	fmt.Println("fired; stopped:", timer.Stop())
	// Output: fired; stopped: false
}

func ExampleTicker_Reset() {
	ticker := time.NewTicker(time.Hour)
	defer ticker.Stop()
	ticker.Reset(time.Millisecond)
	<-ticker.C
	fmt.Println("a tick")
	// Output: a tick
}
