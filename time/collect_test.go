package time_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/time"
)

// awaitNoTimers waits until the default runtime has no timers, armed or not.
func awaitNoTimers(t *testing.T, what string) {
	t.Helper()
	testkit.Eventually(t, what+": no timers", func() bool {
		runtime.GC()
		now := foliot.Default().Stats()
		return now.Armed == 0 && now.Timers == 0
	})
}

// wantCollected waits until the object was collected.
func wantCollected[T any](t *testing.T, what string, object weak.Pointer[T]) {
	t.Helper()
	if testkit.Uncollected(testkit.Timeout, []weak.Pointer[T]{object}) != 0 {
		t.Fatalf("%s: the object was not collected", what)
	}
}

// A timer with a function is not collected before it has fired.
func TestTheFunctionOfAnUnreachableTimerIsCalled(t *testing.T) {
	ran := make(chan struct{}, 100)
	for range cap(ran) {
		time.AfterFunc(10*time.Millisecond, func() { ran <- struct{}{} })
	}
	collect()
	for range cap(ran) {
		testkit.Receive(t, ran, "a function")
	}
}

//go:noinline
func makeTimer() weak.Pointer[time.Timer] { return weak.Make(time.NewTimer(time.Hour)) }

func TestAnUnreachableTimerIsCollectedWithoutStop(t *testing.T) {
	wantCollected(t, "an armed Timer", makeTimer())
}

//go:noinline
func makeFunction(use func(*time.Timer)) weak.Pointer[[1024]byte] {
	p := new([1024]byte)
	timer := time.AfterFunc(time.Hour, func() { p[0]++ })
	use(timer)
	return weak.Make(p)
}

func TestAFunctionIsCollectedAfterItsTimerWasStoppedOrFired(t *testing.T) {
	stays := time.AfterFunc(time.Hour, func() {}) // without it, the engine would clean up because it is empty
	defer stays.Stop()
	for name, use := range map[string]func(*time.Timer){
		"stopped":           func(timer *time.Timer) { timer.Stop() },
		"reset and stopped": func(timer *time.Timer) { timer.Reset(time.Minute); timer.Stop() },
		"called":            func(timer *time.Timer) { timer.Reset(0) },
	} {
		wantCollected(t, name, makeFunction(use))
	}
}
