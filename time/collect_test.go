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

// A channel stands for what Go keeps for a channel, which a weak pointer can tell of.
type channel struct{ _ uintptr }

func weakly(c <-chan time.Time) weak.Pointer[channel] {
	return weak.Make(*(**channel)(unsafe.Pointer(&c)))
}

// makers make a timer or a ticker each that nobody refers to any more. They are not inlined, so that nothing on the
// stack does.
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

// allGone waits until there are no timers at all, not even ones that are not armed.
func allGone(t *testing.T, what string) {
	t.Helper()
	eventually(t, what+": all timers are gone", func() bool {
		runtime.GC()
		now := foliot.Default().Stats()
		return now.Armed == 0 && now.Slots == 0
	})
}

func TestWhatNobodyRefersToIsCollectedWithoutStop(t *testing.T) {
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

// Once it is collected it costs nothing any more, even if no other timer is made afterwards.
func TestAForgottenTickerDoesNotTick(t *testing.T) {
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
	atBothAges(t, func(t *testing.T, age func()) {
		c, ticker := channelOfATicker(time.Millisecond)
		receive(t, c, "a tick")
		age()
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

func TestAChannelThatIsHeldRingsAlthoughItsTimerIsGone(t *testing.T) {
	atBothAges(t, func(t *testing.T, age func()) {
		c, timer := channelOfATimer(50 * time.Millisecond)
		age()
		eventually(t, "the Timer is collected", func() bool {
			runtime.GC()
			return timer.Value() == nil
		})
		receive(t, c, "the time")
	})
}

// A goroutine that waits for a channel refers to it, and may be the only one that does.
func TestAChannelThatIsWaitedForIsNotCollected(t *testing.T) {
	atBothAges(t, func(t *testing.T, age func()) {
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
		age()
		for range 20 {
			runtime.GC()
			receive(t, got, "what a goroutine waits for")
		}
	})
}

func TestATimerThatIsHeldRingsWheneverItIsReset(t *testing.T) {
	atBothAges(t, func(t *testing.T, age func()) {
		timer := time.NewTimer(time.Hour)
		age()
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

// A function is what its timer is for: it is called although nobody refers to the timer.
func TestAFunctionIsCalledAlthoughItsTimerIsForgotten(t *testing.T) {
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
func forgottenFunction(use func(*time.Timer)) weak.Pointer[[1024]byte] {
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
		w := forgottenFunction(use)
		eventually(t, name, func() bool {
			runtime.GC()
			return w.Value() == nil
		})
	}
}
