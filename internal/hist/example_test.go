package hist_test

import (
	"fmt"
	"time"

	"github.com/foliot-go/foliot/internal/hist"
)

// Two workers record how late their timers were, each in its own Hist. A reader merges them.
func Example() {
	var workers [2]hist.Hist
	for i := range 1000 {
		late := 50*time.Microsecond + time.Duration(i)*time.Microsecond/10
		workers[i%2].Record(int64(late))
	}
	workers[1].Record(int64(7 * time.Millisecond))

	var all hist.Hist
	for i := range workers {
		all.Merge(&workers[i])
	}
	fmt.Println("timers", all.Count())
	fmt.Println("median", time.Duration(all.Quantile(0.5)), "at most")
	fmt.Println("p99   ", time.Duration(all.Quantile(0.99)), "at most")
	fmt.Println("max   ", time.Duration(all.Max()))
	fmt.Println("mean  ", time.Duration(all.Mean()))
	// Output:
	// timers 1001
	// median 102.399µs at most
	// p99    155.647µs at most
	// max    7ms
	// mean   106.843µs
}

func ExampleHist_All() {
	var h hist.Hist
	for _, v := range []int64{3, 3, 30, 1000, 1001, 1_000_000} {
		h.Record(v)
	}
	for upper, count := range h.All() {
		fmt.Println(count, "up to", upper)
	}
	// Output:
	// 2 up to 3
	// 1 up to 30
	// 2 up to 1023
	// 1 up to 1015807
}
