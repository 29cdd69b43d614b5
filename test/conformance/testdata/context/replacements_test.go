package context_test

import (
	. "context"
	"reflect"
	"runtime"
	"runtime/metrics"
)

// asan replaces internal/asan.
var asan struct{ Enabled bool }

// childrenOf returns the number of children of a context made by WithCancel. It reads the same
// field as the original test.
func childrenOf(ctx Context) int {
	return reflect.ValueOf(ctx).Elem().FieldByName("children").Len()
}

// goroutines replaces the counter of goroutines that package context has started. It counts the
// goroutines that the whole process has started. To start those of the garbage collector
// beforehand, the first Load runs a collection.
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
