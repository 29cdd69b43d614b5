package foliot_test

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/foliot-go/foliot"
)

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}

func TestNoFileDescriptorIsLeaked(t *testing.T) {
	cycle := func(armed bool) {
		r := newRuntime(t, foliot.Options{Workers: 2})
		ran := make(chan struct{})
		after(t, r, 100*microsecond, func() { close(ran) })
		receive(t, ran, "a timer")
		if armed {
			after(t, r, hour, func() {})
		}
		shutdown(t, r)
	}
	cycle(true)                                      // whatever the process needs once
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a finalizer that closes what was forgotten is no excuse
	before := descriptors(t)
	for i := range 50 {
		cycle(i%2 == 0)
	}
	var now int
	if !holdsWithin(5*second, func() bool { now = descriptors(t); return now <= before+1 }) {
		t.Errorf("%d file descriptors after fifty runtimes, %d before", now, before)
	}
}

func TestRuntimesWithFarTimersHoldNoFileDescriptor(t *testing.T) {
	const crowd = 1000
	for name, use := range map[string]func(r *foliot.Runtime){
		"no timer was near": func(r *foliot.Runtime) { after(t, r, hour, func() {}) },
		"a timer was near": func(r *foliot.Runtime) {
			ran := make(chan struct{})
			after(t, r, millisecond, func() { close(ran) })
			after(t, r, hour, func() {})
			receive(t, ran, "a timer")
		},
	} {
		t.Run(name, func(t *testing.T) {
			use(newRuntime(t, foliot.Options{Workers: 1})) // whatever the process needs once
			before := descriptors(t)
			for range crowd {
				use(newRuntime(t, foliot.Options{Workers: 1}))
			}
			var now int
			if !holdsWithin(10*second, func() bool { now = descriptors(t); return now <= before+1 }) {
				t.Errorf("%d file descriptors with a thousand runtimes, %d before", now, before)
			}
		})
	}
}
