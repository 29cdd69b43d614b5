package stress_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// An oracle counts all armings and all slots of one runtime, and compares them with what the
// runtime does and with its Stats. All goroutines and callbacks of a test use it.
//
// A counter whose name ends in "Begun" is raised before the call, the others after the call has
// returned. So at any moment the true number lies between the two.
type oracle struct {
	t     testing.TB
	r     *foliot.Runtime
	max   int64 // Options.MaxTimers
	hasGo bool  // there is Options.Go
	start time.Time

	armBegun  atomic.Int64 // armings requested
	armed     atomic.Int64 // armings that succeeded
	ran       atomic.Int64 // callbacks started
	running   atomic.Int64 // callbacks that are running now
	stopped   atomic.Int64 // armings that a Stop or Free has certainly cancelled
	replaced  atomic.Int64 // armings that a Reset has certainly replaced
	uncertain atomic.Int64 // armings that ran or were replaced or freed; the test cannot know which

	slotsBegun atomic.Int64 // slots requested
	slotsFreed atomic.Int64 // slots freed or refused

	panicked     atomic.Int64 // panics of callbacks
	onPanicCalls atomic.Int64 // calls of OnPanic

	closing  atomic.Bool // Shutdown has been called: any call may be refused from now on
	closed   atomic.Bool // Shutdown has returned: nothing may run from now on
	failures atomic.Int64
}

// panicValue is the value that callbacks panic with.
type panicValue struct{}

// newOracle makes a runtime and an oracle for it.
func newOracle(t testing.TB, opts foliot.Options) *oracle {
	t.Helper()
	o := &oracle{t: t, max: int64(opts.MaxTimers), hasGo: opts.Go != nil, start: time.Now()}
	opts.OnPanic = func(v any, stack []byte) {
		if _, ok := v.(panicValue); !ok || len(stack) == 0 {
			o.fail("OnPanic got %v\n%s", v, stack)
		}
		o.onPanicCalls.Add(1)
	}
	o.r = kit.NewRuntime(t, opts)
	return o
}

// fail fails the test. It reports only the first few failures, since one bug causes many.
func (o *oracle) fail(format string, args ...any) {
	if o.failures.Add(1) <= 5 {
		o.t.Errorf(format, args...)
	}
}

// now returns the nanoseconds since the oracle was made. All deadlines of the oracle are in this
// unit.
func (o *oracle) now() int64 { return int64(time.Since(o.start)) }

// enter begins every callback and checks that it is not too early. leave ends every callback.
func (o *oracle) enter(due int64) {
	now := o.now()
	o.running.Add(1)
	o.ran.Add(1)
	if now < due {
		o.fail("a callback ran %v before its deadline", time.Duration(due-now))
	}
	if o.closed.Load() {
		o.fail("a callback started after Shutdown had returned")
	}
}

func (o *oracle) leave() { o.running.Add(-1) }

// misbehave rarely panics, calls Goexit, blocks or spins, as a bad callback may.
func (o *oracle) misbehave() {
	switch n := rand.IntN(4000); {
	case n < 30:
		o.panicked.Add(1)
		panic(panicValue{})
	case n < 60:
		runtime.Goexit()
	case n < 65:
		time.Sleep(10*millisecond + kit.Random(20*millisecond))
	case n < 66:
		for end := o.now() + int64(7*millisecond); o.now() < end; {
		}
	}
}

// takeSlots calls f, which makes n timers, and reports whether f succeeded. It checks that a
// refusal is justified.
func (o *oracle) takeSlots(n int64, f func() error) bool {
	freed := o.slotsFreed.Load()
	o.slotsBegun.Add(n)
	err := f()
	switch {
	case err == nil:
		return true
	case errors.Is(err, foliot.ErrFull):
		// The slots in use during the call, together with these n, never were more than this.
		if most := o.slotsBegun.Load() - freed; o.max == 0 || most <= o.max {
			o.fail("got ErrFull with at most %d of %d slots in use", most-n, o.max)
		}
	case errors.Is(err, foliot.ErrClosed) && o.closing.Load():
	default:
		o.fail("refused: %v", err)
	}
	o.slotsFreed.Add(n)
	return false
}

// checkStats compares Stats with the counts. It may be called while other goroutines use the
// runtime.
func (o *oracle) checkStats() {
	armed, ran := o.armed.Load(), o.ran.Load()
	stopped, replaced := o.stopped.Load(), o.replaced.Load()
	st := o.r.Stats()
	armBegun := o.armBegun.Load()
	stFired, stStopped, stRearmed := int64(st.Fired), int64(st.Stopped), int64(st.Rearmed)
	due := int64(st.Late.Count()) // Fired, and the callbacks for Options.Go that have not started
	sum := due + stStopped + stRearmed + int64(st.Armed)
	if !o.closing.Load() && (sum < armed || sum > armBegun) {
		o.fail("Late %d + Stopped %d + Rearmed %d + Armed %d = %d, want %d to %d armings",
			due, stStopped, stRearmed, st.Armed, sum, armed, armBegun)
	}
	if stFired > due || !o.hasGo && stFired != due {
		o.fail("Fired is %d, and Late counts %d", stFired, due)
	}
	if stFired < ran || stStopped < stopped || stRearmed < replaced {
		o.fail("Fired %d, Stopped %d, Rearmed %d, want %d, %d, %d or more",
			stFired, stStopped, stRearmed, ran, stopped, replaced)
	}
	if st.Armed < 0 || st.Timers < st.Armed || st.Stale < 0 || st.Goroutines < 0 {
		o.fail("inconsistent Stats: Armed %d, Timers %d, Stale %d, Running %d",
			st.Armed, st.Timers, st.Stale, st.Goroutines)
	}
}

// keepChecking calls checkStats every millisecond until end is called.
func (o *oracle) keepChecking() (end func()) {
	return keepDoing(func() {
		o.checkStats()
		time.Sleep(millisecond)
	})
}

// checkTotals compares the final Stats with the counts. No operation may be running. left is the
// result of Shutdown.
func (o *oracle) checkTotals(left int) {
	o.t.Helper()
	st := o.r.Stats()
	armed, ran, stopped := o.armed.Load(), o.ran.Load(), o.stopped.Load()
	replaced, uncertain := o.replaced.Load(), o.uncertain.Load()
	o.t.Logf("%d armings: %d ran, %d stopped, %d replaced, %d uncertain, %d left",
		armed, ran, stopped, replaced, uncertain, left)
	o.t.Logf("%d panics, %d workers replaced, %d migrated, %d scrubbed, %d wake-ups; late %v %v %v",
		st.Panics, st.Blocked, st.Migrated, st.Scrubbed, st.Wakeups,
		st.Late.Quantile(0.5), st.Late.Quantile(0.99), st.Late.Max())
	if got := ran + int64(st.Stopped+st.Rearmed) + int64(left); got != armed {
		o.t.Errorf("%d ran + Stopped %d + Rearmed %d + %d left = %d, want %d armings",
			ran, st.Stopped, st.Rearmed, left, got, armed)
	}
	if int64(st.Fired) != ran || st.Late.Count() != st.Fired {
		o.t.Errorf("Fired is %d and Late counts %d, want %d runs", st.Fired, st.Late.Count(), ran)
	}
	if got := int64(st.Stopped); got < stopped || got > stopped+uncertain {
		o.t.Errorf("Stopped is %d, want %d to %d", got, stopped, stopped+uncertain)
	}
	if got := int64(st.Rearmed); got < replaced || got > replaced+uncertain {
		o.t.Errorf("Rearmed is %d, want %d to %d", got, replaced, replaced+uncertain)
	}
	if st.Armed != 0 || st.Goroutines != 0 || o.running.Load() != 0 {
		o.t.Errorf("at the end Armed is %d, Goroutines is %d and %d callbacks run, want 0",
			st.Armed, st.Goroutines, o.running.Load())
	}
	panicked, onPanicCalls := o.panicked.Load(), o.onPanicCalls.Load()
	if got := int64(st.Panics); got != panicked || onPanicCalls != panicked {
		o.t.Errorf("Panics is %d and OnPanic was called %d times, want %d panics",
			got, onPanicCalls, panicked)
	}
}

// waitQuiet waits until nothing is armed and no callback runs.
func (o *oracle) waitQuiet() {
	o.t.Helper()
	if !testkit.TrueWithin(testkit.Timeout, o.isQuiet) {
		o.t.Fatalf("after %v Armed is %d and %d callbacks run, want 0\n%s",
			testkit.Timeout, o.r.Stats().Armed, o.running.Load(), testkit.Stacks())
	}
}

// isQuiet reports whether nothing is armed and no callback runs or is about to. Stats visits one
// shard after another, so a callback may meanwhile arm a timer in a shard that has been visited; and
// a callback that Options.Go has taken and not yet started is in Late but not in Fired.
func (o *oracle) isQuiet() bool {
	begun := o.armBegun.Load()
	st := o.r.Stats()
	return st.Armed == 0 && st.Late.Count() == st.Fired && o.ran.Load() == int64(st.Fired) &&
		o.running.Load() == 0 && o.armBegun.Load() == begun
}

// stress calls each of the users on a new goroutine. They use the runtime until a time, which is d
// from now. Meanwhile it checks Stats, collects garbage and, if resize is set, changes the number
// of workers. Then it calls stopTimers until nothing is armed and waits until no callback runs.
// stopTimers stops the timers that do not come due during the test.
func (o *oracle) stress(d time.Duration, resize bool, stopTimers func(), users ...func(until int64)) {
	o.t.Helper()
	ends := []func(){keepCollecting(), o.keepChecking()}
	if resize {
		ends = append(ends, keepResizing(o.t, o.r))
	}
	until := o.now() + int64(d)
	var wg sync.WaitGroup
	for _, use := range users {
		wg.Go(func() { use(until) })
	}
	wg.Wait()
	// Callbacks go on to arm timers, but a run arms less than one timer on average.
	noneArmed := func() bool {
		stopTimers()
		return o.isQuiet() // a callback that is running may still arm a timer
	}
	if !testkit.TrueWithin(testkit.Timeout, noneArmed) {
		o.t.Fatalf("timers are armed after %v: %v\n%s", testkit.Timeout, o.r, testkit.Stacks())
	}
	for _, end := range ends {
		end()
	}
	o.waitQuiet()
}

// shutdown closes the runtime and returns how many timers were armed.
func (o *oracle) shutdown() int {
	o.t.Helper()
	o.closing.Store(true)
	left := kit.Shutdown(o.t, o.r)
	o.closed.Store(true)
	return left
}
