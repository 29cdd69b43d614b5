package contract_test

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

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
	cycle(true) // opens files that the process needs once
	// Without collections no finalizer can close a forgotten file.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before := testkit.OpenFiles(t)
	for i := range 50 {
		cycle(i%2 == 0)
	}
	wantOpenFiles(t, before+1, func() {})
}

// wantOpenFiles waits until at most n files are open, and calls help meanwhile.
func wantOpenFiles(t *testing.T, n int, help func()) {
	t.Helper()
	var got int
	few := func() bool {
		help()
		got = testkit.OpenFiles(t)
		return got <= n
	}
	if !testkit.TrueWithin(10*second, few) {
		t.Errorf("%d file descriptors are open, want at most %d", got, n)
	}
}

func TestRuntimesWithFarTimersHoldNoFileDescriptor(t *testing.T) {
	testkit.SkipIfShort(t)
	const runtimes = 1000
	for name, use := range map[string]func(r *foliot.Runtime){
		"without a near timer": func(r *foliot.Runtime) { kit.After(t, r, hour, func() {}) },
		"with a near timer": func(r *foliot.Runtime) {
			ran := make(chan struct{})
			kit.After(t, r, millisecond, func() { close(ran) })
			kit.After(t, r, hour, func() {})
			testkit.Receive(t, ran, "a timer")
		},
	} {
		t.Run(name, func(t *testing.T) {
			// Opens files that the process needs once.
			use(kit.NewRuntime(t, foliot.Options{Workers: 1}))
			before := testkit.OpenFiles(t)
			for range runtimes {
				use(kit.NewRuntime(t, foliot.Options{Workers: 1}))
			}
			wantOpenFiles(t, before+1, func() {})
		})
	}
}

// A user may forget to call Shutdown.
func TestUnreachableRuntimesHoldNoFileDescriptor(t *testing.T) {
	for name, use := range unreachable {
		t.Run(name, func(t *testing.T) {
			use(t, newUnreachable(t)) // opens files that the process needs once
			before := testkit.OpenFiles(t)
			for range 200 {
				use(t, newUnreachable(t))
			}
			wantOpenFiles(t, before+1, runtime.GC)
		})
	}
}
