package contract_test

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
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
		r := kit.NewRuntime(t, foliot.Options{Workers: 2})
		ran := make(chan struct{})
		kit.After(t, r, 100*microsecond, func() { close(ran) })
		testkit.Receive(t, ran, "a timer")
		if armed {
			kit.After(t, r, hour, func() {})
		}
		kit.Shutdown(t, r)
	}
	cycle(true)                                      // whatever the process needs once
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a finalizer that closes what was forgotten is no excuse
	before := descriptors(t)
	for i := range 50 {
		cycle(i%2 == 0)
	}
	var now int
	if !testkit.TrueWithin(5*second, func() bool { now = descriptors(t); return now <= before+1 }) {
		t.Errorf("%d file descriptors after fifty runtimes, %d before", now, before)
	}
}

func TestRuntimesWithFarTimersHoldNoFileDescriptor(t *testing.T) {
	const crowd = 1000
	for name, use := range map[string]func(r *foliot.Runtime){
		"no timer was near": func(r *foliot.Runtime) { kit.After(t, r, hour, func() {}) },
		"a timer was near": func(r *foliot.Runtime) {
			ran := make(chan struct{})
			kit.After(t, r, millisecond, func() { close(ran) })
			kit.After(t, r, hour, func() {})
			testkit.Receive(t, ran, "a timer")
		},
	} {
		t.Run(name, func(t *testing.T) {
			use(kit.NewRuntime(t, foliot.Options{Workers: 1})) // whatever the process needs once
			before := descriptors(t)
			for range crowd {
				use(kit.NewRuntime(t, foliot.Options{Workers: 1}))
			}
			var now int
			if !testkit.TrueWithin(10*second, func() bool { now = descriptors(t); return now <= before+1 }) {
				t.Errorf("%d file descriptors with a thousand runtimes, %d before", now, before)
			}
		})
	}
}
