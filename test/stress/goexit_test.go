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

// An Options.Go that runs callbacks in place has its goroutine ended by a callback that calls Goexit, and the worker with
// it. The timer has to be told once, and not twice, that its callback is over.
func TestAReusableTimerIsGoodAfterGoexitInPlace(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: func(f func()) { f() }})
	ran := make(chan struct{}, 1)
	timer := kit.NewTimer(t, r, func() {
		ran <- struct{}{}
		runtime.Goexit()
	})
	for range 5 {
		if !timer.Reset(millisecond) {
			t.Fatal("Reset is false")
		}
		testkit.Receive(t, ran, "the callback")
		time.Sleep(2 * millisecond) // it has come to its end, too
	}
}

// The second run follows the first at once, since it came due meanwhile.
func TestGoexitInARunThatFollowsAnotherAtOnce(t *testing.T) {
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
					time.Sleep(50 * millisecond) // it comes due
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
					t.Error("Reset is false")
				}
				testkit.Receive(t, again, "a further run")
			}
			kit.After(t, r, 0, func() { again <- struct{}{} })
			testkit.Receive(t, again, "another timer")
			kit.Shutdown(t, r)
		})
	}
}
