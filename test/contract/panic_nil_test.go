package contract_test

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// With GODEBUG=panicnil=1 recover returns nil for panic(nil), as it does for runtime.Goexit.
func TestOnPanicIsCalledForPanicNilWithAnyGODEBUG(t *testing.T) {
	for _, setting := range []string{"panicnil=0", "panicnil=1"} {
		for name, o := range map[string]foliot.Options{
			"on the worker": {Workers: 1},
			"Options.Go":    {Workers: 1, Go: func(f func()) { go f() }},
		} {
			t.Run(setting+", "+name, func(t *testing.T) {
				t.Setenv("GODEBUG", setting)
				values := make(chan any, 10)
				o.OnPanic = func(v any, stack []byte) { values <- v }
				r := kit.NewRuntime(t, o)
				var ran atomic.Int32
				timer := kit.NewTimer(t, r, func() {
					ran.Add(1)
					panic(nil)
				})
				for range 3 {
					timer.Reset(0)
					wantPanicNil(t, testkit.Receive(t, values, "a callback's panic(nil)"))
				}
				_, err := r.Spawn(foliot.TaskFunc(func(*foliot.Context) foliot.Status { panic(nil) }))
				if err != nil {
					t.Fatal(err)
				}
				wantPanicNil(t, testkit.Receive(t, values, "a poll's panic(nil)"))
				kit.After(t, r, 0, runtime.Goexit)
				done := make(chan struct{})
				kit.After(t, r, millisecond, func() { close(done) })
				testkit.Receive(t, done, "a callback after Goexit")
				if kit.Shutdown(t, r); len(values) != 0 || ran.Load() != 3 {
					t.Errorf("%d more panics and %d runs of the timer, want 0 and 3",
						len(values), ran.Load())
				}
				if got := r.Stats(); got.Panics != 4 || got.Goroutines != 0 {
					t.Errorf("Panics is %d, Goroutines is %d, want 4, 0", got.Panics, got.Goroutines)
				}
			})
		}
	}
}

func wantPanicNil(t *testing.T, v any) {
	t.Helper()
	var want *runtime.PanicNilError
	if err, ok := v.(error); !ok || !errors.As(err, &want) {
		t.Errorf("OnPanic got %v, want a runtime.PanicNilError", v)
	}
}
