package time_test

import (
	"runtime"
	"testing"
	std "time"
	"unsafe"
	"weak"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/time"
)

// A channel stands for the struct that a channel points to. A weak pointer to it shows whether the
// channel was collected.
type channel struct{ _ uintptr }

// weakPointer returns a weak pointer to the struct of c.
func weakPointer(c <-chan time.Time) weak.Pointer[channel] {
	return weak.Make(*(**channel)(unsafe.Pointer(&c)))
}

// makers has functions that make a timer or a ticker and keep no reference to it. They are not
// inlined, so that there is no reference on the stack of the caller either.
var makers = map[string]func() weak.Pointer[channel]{
	"After":          makeAfter,
	"NewTimer":       makeTimer,
	"NewTimer soon":  makeTimerSoon,
	"Reset":          makeReset,
	"Stop":           makeStopped,
	"Stop and Reset": makeStoppedAndReset,
	"Tick":           makeTick,
	"NewTicker":      makeTicker,
	"fast NewTicker": makeFastTicker,
}

//go:noinline
func makeAfter() weak.Pointer[channel] { return weakPointer(time.After(time.Hour)) }

//go:noinline
func makeTimer() weak.Pointer[channel] { return weakPointer(time.NewTimer(time.Hour).C) }

//go:noinline
func makeTimerSoon() weak.Pointer[channel] { return weakPointer(time.NewTimer(time.Millisecond).C) }

//go:noinline
func makeReset() weak.Pointer[channel] {
	timer := time.NewTimer(0)
	timer.Reset(time.Hour)
	return weakPointer(timer.C)
}

//go:noinline
func makeStopped() weak.Pointer[channel] {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return weakPointer(timer.C)
}

//go:noinline
func makeStoppedAndReset() weak.Pointer[channel] {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	timer.Reset(2 * time.Hour)
	timer.Reset(time.Hour)
	return weakPointer(timer.C)
}

//go:noinline
func makeTick() weak.Pointer[channel] { return weakPointer(time.Tick(time.Hour)) }

//go:noinline
func makeTicker() weak.Pointer[channel] { return weakPointer(time.NewTicker(time.Hour).C) }

//go:noinline
func makeFastTicker() weak.Pointer[channel] {
	return weakPointer(time.NewTicker(5 * time.Millisecond).C)
}

// awaitNoTimers waits until the default runtime has no timers, armed or not.
func awaitNoTimers(t *testing.T, what string) {
	t.Helper()
	testkit.Eventually(t, what+": no timers", func() bool {
		runtime.GC()
		now := foliot.Default().Stats()
		return now.Armed == 0 && now.Slots == 0
	})
}

// wantCollected waits until the object was collected.
func wantCollected[T any](t *testing.T, what string, object weak.Pointer[T]) {
	t.Helper()
	if testkit.Uncollected(testkit.Timeout, []weak.Pointer[T]{object}) != 0 {
		t.Fatalf("%s: the object was not collected", what)
	}
}

func TestAnUnreachableTimerIsCollectedWithoutStop(t *testing.T) {
	for name, makeTimer := range makers {
		for _, n := range []int{1, 10, 1000} {
			var channels []weak.Pointer[channel]
			for range n {
				channels = append(channels, makeTimer())
			}
			if left := testkit.Uncollected(testkit.Timeout, channels); left != 0 {
				t.Fatalf("%s: %d of %d channels were not collected", name, left, n)
			}
			awaitNoTimers(t, name)
		}
	}
}

// A collected ticker does not tick, even if no other timer is made afterwards.
func TestAnUnreachableTickerDoesNotTick(t *testing.T) {
	awaitNoTimers(t, "other tests")
	makeFastTicker()
	awaitNoTimers(t, "the ticker")
	fired := foliot.Default().Stats().Fired
	std.Sleep(30 * time.Millisecond)
	if n := foliot.Default().Stats().Fired - fired; n > 0 {
		t.Errorf("%d timers fired, want none", n)
	}
}

//go:noinline
func newTickerChannel(d time.Duration) (<-chan time.Time, weak.Pointer[time.Ticker]) {
	ticker := time.NewTicker(d)
	return ticker.C, weak.Make(ticker)
}

//go:noinline
func newTimerChannel(d time.Duration) (<-chan time.Time, weak.Pointer[time.Timer]) {
	timer := time.NewTimer(d)
	return timer.C, weak.Make(timer)
}

func TestAReachableChannelTicksAfterItsTickerWasCollected(t *testing.T) {
	forStrongAndWeak(t, func(t *testing.T, weaken func()) {
		c, ticker := newTickerChannel(time.Millisecond)
		testkit.Receive(t, c, "a tick")
		weaken()
		wantCollected(t, "the Ticker", ticker)
		for range 5 {
			testkit.Receive(t, c, "a tick")
			testkit.Receive(t, c, "another tick")
			runtime.GC()
		}
	})
}

func TestAReachableChannelGetsAValueAfterItsTimerWasCollected(t *testing.T) {
	forStrongAndWeak(t, func(t *testing.T, weaken func()) {
		c, timer := newTimerChannel(50 * time.Millisecond)
		weaken()
		wantCollected(t, "the Timer", timer)
		testkit.Receive(t, c, "the value")
	})
}

// A goroutine that waits on a channel may have the only reference to it.
func TestAChannelOnWhichAGoroutineWaitsIsNotCollected(t *testing.T) {
	forStrongAndWeak(t, func(t *testing.T, weaken func()) {
		received := make(chan time.Time)
		for range 10 {
			go func() { received <- <-time.After(30 * time.Millisecond) }()
			go func() {
				select {
				case at := <-time.Tick(30 * time.Millisecond):
					received <- at
				case <-make(chan int):
				}
			}()
		}
		weaken()
		for range 20 {
			runtime.GC()
			testkit.Receive(t, received, "the value of a waiting goroutine")
		}
	})
}

func TestAReachableTimerFiresAfterEachReset(t *testing.T) {
	forStrongAndWeak(t, func(t *testing.T, weaken func()) {
		timer := time.NewTimer(time.Hour)
		weaken()
		for i := range 12 {
			runtime.GC()
			if i%3 == 0 {
				timer.Stop()
			}
			timer.Reset(time.Duration(i%4) * time.Millisecond)
			runtime.GC()
			testkit.Receive(t, timer.C, "the value")
		}
	})
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
