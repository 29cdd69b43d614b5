package stress_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A ledger has an account of every arming on one runtime, and of every slot. All goroutines of a test and all
// callbacks write to it.
//
// Counters are named for the moment at which they go up: those that say "begun" before the call, the others after its
// answer. So at any moment the true number is between two of them.
type ledger struct {
	t     testing.TB
	r     *foliot.Runtime
	max   int64 // Options.MaxTimers
	start time.Time

	begun    atomic.Int64 // armings asked for
	armed    atomic.Int64 // armings granted
	ran      atomic.Int64 // callbacks started
	inside   atomic.Int64 // callbacks that run now
	stopped  atomic.Int64 // armings known to have been called off by a Stop or Free
	replaced atomic.Int64 // armings known to have been replaced by a Reset
	vague    atomic.Int64 // armings of which it cannot be known from outside whether they ran, or were replaced or freed

	slotsBegun atomic.Int64 // slots asked for
	slotsFreed atomic.Int64 // slots given back, or refused

	panicked atomic.Int64 // panics of callbacks
	caught   atomic.Int64 // calls of OnPanic

	closing atomic.Bool // Shutdown has been called: from here on any call may be refused
	closed  atomic.Bool // Shutdown has returned: from here on nothing may run
	faults  atomic.Int64
}

// bang is what callbacks panic with.
type bang struct{}

// newLedger makes a runtime with an empty ledger.
func newLedger(t testing.TB, o foliot.Options) *ledger {
	t.Helper()
	l := &ledger{t: t, max: int64(o.MaxTimers), start: time.Now()}
	o.OnPanic = func(v any, stack []byte) {
		if _, ok := v.(bang); !ok || len(stack) == 0 {
			l.fault("OnPanic got %v\n%s", v, stack)
		}
		l.caught.Add(1)
	}
	l.r = kit.NewRuntime(t, o)
	return l
}

// fault fails the test. One bug has many victims, of which a few are enough.
func (l *ledger) fault(format string, args ...any) {
	if l.faults.Add(1) <= 5 {
		l.t.Errorf(format, args...)
	}
}

// now is the time, in nanoseconds, on a clock that the deadlines of the ledger are on.
func (l *ledger) now() int64 { return int64(time.Since(l.start)) }

// enter is how every callback begins, leave how it ends.
func (l *ledger) enter(due int64) {
	now := l.now()
	l.inside.Add(1)
	l.ran.Add(1)
	if now < due {
		l.fault("a callback ran %v before its deadline", time.Duration(due-now))
	}
	if l.closed.Load() {
		l.fault("a callback started after Shutdown had returned")
	}
}

func (l *ledger) leave() { l.inside.Add(-1) }

// misbehave does, now and then, what callbacks had better not do.
func (l *ledger) misbehave() {
	switch n := rand.IntN(4000); {
	case n < 30:
		l.panicked.Add(1)
		panic(bang{})
	case n < 60:
		runtime.Goexit()
	case n < 65:
		time.Sleep(10*millisecond + kit.Random(20*millisecond))
	case n < 66:
		for end := l.now() + int64(7*millisecond); l.now() < end; {
		}
	}
}

// take asks for n slots by calling f, and tells whether it got them.
func (l *ledger) take(n int64, f func() error) bool {
	freed := l.slotsFreed.Load()
	l.slotsBegun.Add(n)
	err := f()
	switch {
	case err == nil:
		return true
	case errors.Is(err, foliot.ErrFull):
		// At no moment of the call there were more slots in use, these included, than this.
		if most := l.slotsBegun.Load() - freed; l.max == 0 || most <= l.max {
			l.fault("ErrFull with %d slots in use at most, of %d", most-n, l.max)
		}
	case errors.Is(err, foliot.ErrClosed) && l.closing.Load():
	default:
		l.fault("refused: %v", err)
	}
	l.slotsFreed.Add(n)
	return false
}

// checkStats holds Stats against the ledger while all is under way.
func (l *ledger) checkStats() {
	armed, ran, stopped, replaced := l.armed.Load(), l.ran.Load(), l.stopped.Load(), l.replaced.Load()
	st := l.r.Stats()
	begun := l.begun.Load()
	fired, called, again := int64(st.Fired), int64(st.Stopped), int64(st.Rearmed)
	if all := fired + called + again + int64(st.Armed); !l.closing.Load() && (all < armed || all > begun) {
		l.fault("Fired %d + Stopped %d + Rearmed %d + Armed %d = %d, and there were %d to %d armings",
			fired, called, again, st.Armed, all, armed, begun)
	}
	if fired < ran || called < stopped || again < replaced {
		l.fault("Fired %d, Stopped %d, Rearmed %d, want %d, %d, %d or more", fired, called, again, ran, stopped, replaced)
	}
	if st.Armed < 0 || st.Slots < st.Armed || st.Stale < 0 || st.Running < 0 {
		l.fault("Stats make no sense: Armed %d, Slots %d, Stale %d, Running %d", st.Armed, st.Slots, st.Stale, st.Running)
	}
}

// keepChecking holds Stats against the ledger all the time.
func (l *ledger) keepChecking() (end func()) {
	return keepDoing(func() {
		l.checkStats()
		time.Sleep(millisecond)
	})
}

// close balances the books, when no more operations are under way. left is what Shutdown answered.
func (l *ledger) close(left int) {
	l.t.Helper()
	st := l.r.Stats()
	armed, ran, stopped := l.armed.Load(), l.ran.Load(), l.stopped.Load()
	replaced, vague := l.replaced.Load(), l.vague.Load()
	l.t.Logf("%d armings: %d ran, %d stopped, %d replaced, %d vague, %d left; %d panics, %d workers replaced, %d migrated, %d scrubbed, %d wake-ups; late %v %v %v",
		armed, ran, stopped, replaced, vague, left, st.Panics, st.Blocked, st.Migrated, st.Scrubbed, st.Wakeups,
		st.Late.Quantile(0.5), st.Late.Quantile(0.99), st.Late.Max())
	if got := ran + int64(st.Stopped+st.Rearmed) + int64(left); got != armed {
		l.t.Errorf("%d ran + Stopped %d + Rearmed %d + %d left = %d, and there were %d armings",
			ran, st.Stopped, st.Rearmed, left, got, armed)
	}
	if int64(st.Fired) != ran || st.Late.Count() != st.Fired {
		t := "Fired is %d and Late counts %d; %d callbacks ran"
		l.t.Errorf(t, st.Fired, st.Late.Count(), ran)
	}
	if got := int64(st.Stopped); got < stopped || got > stopped+vague {
		l.t.Errorf("Stopped is %d; %d were stopped, and %d perhaps", got, stopped, vague)
	}
	if got := int64(st.Rearmed); got < replaced || got > replaced+vague {
		l.t.Errorf("Rearmed is %d; %d were replaced, and %d perhaps", got, replaced, vague)
	}
	if st.Armed != 0 || st.Running != 0 || l.inside.Load() != 0 {
		l.t.Errorf("Armed is %d, Running %d, and %d callbacks run, after the end", st.Armed, st.Running, l.inside.Load())
	}
	if got := int64(st.Panics); got != l.panicked.Load() || l.caught.Load() != got {
		l.t.Errorf("%d callbacks panicked; Panics is %d, OnPanic was called %d times", l.panicked.Load(), got, l.caught.Load())
	}
}

// awaitRun waits until nothing is armed and nothing runs.
func (l *ledger) wait() {
	l.t.Helper()
	quiet := func() bool {
		st := l.r.Stats()
		return st.Armed == 0 && l.ran.Load() == int64(st.Fired) && l.inside.Load() == 0
	}
	if !testkit.TrueWithin(testkit.Timeout, quiet) {
		l.t.Fatalf("not quiet after %v: Armed %d, %d callbacks run\n%s", testkit.Timeout, l.r.Stats().Armed, l.inside.Load(), testkit.Stacks())
	}
}
