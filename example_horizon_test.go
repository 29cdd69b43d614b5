package foliot_test

import (
	"fmt"
	"time"

	"github.com/foliot-go/foliot"
)

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
