package context_test

import (
	. "context"
	"reflect"
	"runtime"
	"runtime/metrics"
)

// asan stands in for internal/asan.
var asan struct{ Enabled bool }

// childrenOf returns how many children a context of WithCancel has. It reads the field that the original reads.
func childrenOf(ctx Context) int {
	return reflect.ValueOf(ctx).Elem().FieldByName("children").Len()
}

// goroutines stands in for package context's counter of goroutines that it has started: it counts those of the
// whole process. The collector's have all been started when it is first read.
var goroutines counter

type counter struct{ warm bool }

func (c *counter) Load() int64 {
	if !c.warm {
		runtime.GC()
		c.warm = true
	}
	sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
