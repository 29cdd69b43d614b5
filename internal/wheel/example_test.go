package wheel_test

import (
	"fmt"

	"github.com/foliot-go/foliot/internal/wheel"
)

// A scheduler keeps the entry of a periodic timer. Pop returns the entry parked, so that the
// scheduler can release its lock while the callback of the timer runs.
func ExampleWheel_Pop() {
	type timer struct {
		name   string
		period wheel.Tick // 0: not periodic
	}
	var w wheel.Wheel[timer]
	w.Schedule(10, timer{"tick", 10})
	w.Schedule(15, timer{"once", 0})

	for h, at, ok := w.Pop(35); ok; h, at, ok = w.Pop(35) {
		t := w.Value(h)
		fmt.Println(at, t.name)
		if t.period > 0 {
			w.Reschedule(h, at+t.period) // if it is due again by 35, Pop returns it again
		}
	}
	next, _ := w.Next()
	fmt.Println("entries:", w.Len(), "next:", next)
	// Output:
	// 10 tick
	// 15 once
	// 35 tick
	// entries: 2 next: 45
}
