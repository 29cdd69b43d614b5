package stress_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// Options.Go runs callbacks in place, so a callback that calls Goexit ends the goroutine of the
// worker. The end of the callback must be recorded in the timer exactly once.
func TestAReusableTimerWorksAfterGoexitInPlace(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: func(f func()) { f() }})
	ran := make(chan struct{}, 1)
	timer := kit.NewTimer(t, r, func() {
		ran <- struct{}{}
		runtime.Goexit()
	})
	for range 5 {
		if !timer.Reset(millisecond) {
			t.Fatal("Reset returns false, want true")
		}
		testkit.Receive(t, ran, "the callback")
		time.Sleep(2 * millisecond) // until the callback has returned
	}
}

// The timer comes due again while its callback runs, so the second run follows at once.
func TestATimerWorksAfterGoexitInARunThatFollowsAnotherAtOnce(t *testing.T) {
	for name, goFunc := range map[string]func(f func()){
		"inline":        nil,
		"Go in place":   func(f func()) { f() },
		"Go in another": func(f func()) { go f() },
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: goFunc})
			var timer foliot.Timer
			var runs atomic.Int32
			ready := make(chan struct{})
			again := make(chan struct{}, 1)
			timer = kit.NewTimer(t, r, func() {
				<-ready
				if runs.Add(1) == 1 {
					timer.Reset(0)
					time.Sleep(50 * millisecond) // until the timer is due
					return
				}
				defer func() { again <- struct{}{} }()
				runtime.Goexit()
			})
			close(ready)
			timer.Reset(0)
			testkit.Receive(t, again, "the second run")
			for range 3 {
				if !timer.Reset(0) {
					t.Error("Reset returns false, want true")
				}
				testkit.Receive(t, again, "a further run")
			}
			kit.After(t, r, 0, func() { again <- struct{}{} })
			testkit.Receive(t, again, "another timer")
			kit.Shutdown(t, r)
		})
	}
}
