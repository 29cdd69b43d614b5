package time_test

import (
	"runtime"
	"testing"
	std "time"
	"unsafe"
	"weak"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/time"
)

// A channel stands for the struct behind a channel. A weak pointer to it shows whether the
// channel was collected.
type channel struct{ _ uintptr }

func weakly(c <-chan time.Time) weak.Pointer[channel] {
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
func makeAfter() weak.Pointer[channel] { return weakly(time.After(time.Hour)) }

//go:noinline
func makeTimer() weak.Pointer[channel] { return weakly(time.NewTimer(time.Hour).C) }

//go:noinline
func makeTimerSoon() weak.Pointer[channel] { return weakly(time.NewTimer(time.Millisecond).C) }

//go:noinline
func makeReset() weak.Pointer[channel] {
	timer := time.NewTimer(0)
	timer.Reset(time.Hour)
	return weakly(timer.C)
}

//go:noinline
func makeStopped() weak.Pointer[channel] {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return weakly(timer.C)
}

//go:noinline
func makeStoppedAndReset() weak.Pointer[channel] {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	timer.Reset(2 * time.Hour)
	timer.Reset(time.Hour)
	return weakly(timer.C)
}

//go:noinline
func makeTick() weak.Pointer[channel] { return weakly(time.Tick(time.Hour)) }

//go:noinline
func makeTicker() weak.Pointer[channel] { return weakly(time.NewTicker(time.Hour).C) }

//go:noinline
func makeFastTicker() weak.Pointer[channel] { return weakly(time.NewTicker(5 * time.Millisecond).C) }

// allGone waits until the default runtime has no timers, armed or not.
func allGone(t *testing.T, what string) {
	t.Helper()
	eventually(t, what+": all timers are gone", func() bool {
		runtime.GC()
		now := foliot.Default().Stats()
		return now.Armed == 0 && now.Slots == 0
	})
}

func TestAnUnreachableTimerIsCollectedWithoutStop(t *testing.T) {
	for name, forget := range makers {
		for _, n := range []int{1, 10, 1000} {
			var all []weak.Pointer[channel]
			for range n {
				all = append(all, forget())
			}
			left := n
			eventually(t, name, func() bool {
				runtime.GC()
				left = 0
				for _, w := range all {
					if w.Value() != nil {
						left++
					}
				}
				return left == 0
			})
			allGone(t, name)
		}
	}
}

// A ticker that was collected costs nothing, even if no other timer is made afterwards.
func TestAnUnreachableTickerDoesNotTick(t *testing.T) {
	allGone(t, "of other tests")
	makeFastTicker()
	allGone(t, "the ticker")
	fired := foliot.Default().Stats().Fired
	std.Sleep(30 * time.Millisecond)
	if n := foliot.Default().Stats().Fired - fired; n > 0 {
		t.Errorf("%d ticks", n)
	}
}

//go:noinline
func channelOfATicker(d time.Duration) (<-chan time.Time, weak.Pointer[time.Ticker]) {
	ticker := time.NewTicker(d)
	return ticker.C, weak.Make(ticker)
}

//go:noinline
func channelOfATimer(d time.Duration) (<-chan time.Time, weak.Pointer[time.Timer]) {
	timer := time.NewTimer(d)
	return timer.C, weak.Make(timer)
}

func TestAChannelThatIsHeldTicksAlthoughItsTickerIsGone(t *testing.T) {
	forStrongAndWeak(t, func(t *testing.T, weaken func()) {
		c, ticker := channelOfATicker(time.Millisecond)
		receive(t, c, "a tick")
		weaken()
		eventually(t, "the Ticker is collected", func() bool {
			runtime.GC()
			return ticker.Value() == nil
		})
		for range 5 {
			receive(t, c, "a tick")
			receive(t, c, "another")
			runtime.GC()
		}
	})
}

func TestAChannelThatIsHeldReceivesAlthoughItsTimerIsGone(t *testing.T) {
	forStrongAndWeak(t, func(t *testing.T, weaken func()) {
		c, timer := channelOfATimer(50 * time.Millisecond)
		weaken()
		eventually(t, "the Timer is collected", func() bool {
			runtime.GC()
			return timer.Value() == nil
		})
		receive(t, c, "the time")
	})
}

// A goroutine that waits on a channel may have the only reference to it.
func TestAChannelThatIsWaitedForIsNotCollected(t *testing.T) {
	forStrongAndWeak(t, func(t *testing.T, weaken func()) {
		got := make(chan time.Time)
		for range 10 {
			go func() { got <- <-time.After(30 * time.Millisecond) }()
			go func() {
				select {
				case at := <-time.Tick(30 * time.Millisecond):
					got <- at
				case <-make(chan int):
				}
			}()
		}
		weaken()
		for range 20 {
			runtime.GC()
			receive(t, got, "what a goroutine waits for")
		}
	})
}

func TestATimerThatIsHeldFiresWheneverItIsReset(t *testing.T) {
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
			receive(t, timer.C, "the time")
		}
	})
}

// A timer with a function is not collected before it has fired.
func TestAFunctionIsCalledAlthoughItsTimerIsUnreachable(t *testing.T) {
	ran := make(chan struct{}, 100)
	for range cap(ran) {
		time.AfterFunc(10*time.Millisecond, func() { ran <- struct{}{} })
	}
	collect()
	for range cap(ran) {
		receive(t, ran, "a function")
	}
}

//go:noinline
func makeFunction(use func(*time.Timer)) weak.Pointer[[1024]byte] {
	p := new([1024]byte)
	timer := time.AfterFunc(time.Hour, func() { p[0]++ })
	use(timer)
	return weak.Make(p)
}

func TestAFunctionIsCollectedWhenItsTimerIsStopped(t *testing.T) {
	for name, use := range map[string]func(*time.Timer){
		"stopped":           func(timer *time.Timer) { timer.Stop() },
		"reset and stopped": func(timer *time.Timer) { timer.Reset(time.Minute); timer.Stop() },
		"called":            func(timer *time.Timer) { timer.Reset(0) },
	} {
		w := makeFunction(use)
		eventually(t, name, func() bool {
			runtime.GC()
			return w.Value() == nil
		})
	}
}
