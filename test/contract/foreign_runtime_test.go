package contract_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
)

// A variant is a kind of runtime, and the places where it is made and used.
type variant struct {
	name    string
	workers int
	manual  bool
	shared  bool // the default runtime
	setting setting
}

func (w variant) String() string { return w.name + ", " + w.setting.String() }

func variants() (all []variant) {
	for _, s := range settings {
		all = append(all,
			variant{setting: s, name: "system clock, 1 worker", workers: 1},
			variant{setting: s, name: "manual clock", workers: 2, manual: true},
		)
		if !s.made {
			all = append(all,
				variant{setting: s, name: "system clock, 3 workers", workers: 3},
				variant{setting: s, name: "default runtime", shared: true},
			)
		}
	}
	return all
}

// A foreignRow is a use of a function or a method. It is tried with many variants.
type foreignRow struct {
	name string             // the function or method, then a comma and the condition
	in   func(variant) bool // reports whether to try it with a variant; nil: always
	run  func(f *foreignTest)
}

func (r foreignRow) covers(pkg string) string {
	name, _, _ := strings.Cut(r.name, ",")
	return pkg + "." + name
}

func notEnded(w variant) bool          { return !w.setting.ended }
func onManual(w variant) bool          { return w.manual }
func onSystem(w variant) bool          { return !w.manual }
func notShared(w variant) bool         { return !w.shared }
func notEndedNotShared(w variant) bool { return !w.setting.ended && !w.shared }
func fromOutside(w variant) bool       { return !w.setting.made && !w.manual }

func runtimeGroups() (groups []foreignGroup) {
	var rows []foreignRow
	for _, table := range [][]foreignRow{
		timerRows, verbRows, taskRows, contextRows, queueRows, expirerRows, sleepRows, manualRows, statsRows, shutdownRows,
	} {
		rows = append(rows, table...)
	}
	for _, w := range variants() {
		group := foreignGroup{name: w.String()}
		for _, row := range rows {
			if row.in == nil || row.in(w) {
				run := func(t *testing.T) { runForeignRow(t, w, row) }
				group.cases = append(group.cases,
					foreignCase{row.name, []string{row.covers("foliot")}, run})
			}
		}
		groups = append(groups, group)
	}
	return groups
}

// A foreignTest is a runtime, the place where it was made, and a foreign place.
type foreignTest struct {
	twoPlaces
	variant
	rt    *foliot.Runtime
	clock *foliot.ManualClock // nil: the system clock

	// before is Stats at the start of the case, the others by how much Stats must have changed at
	// the end.
	before              foliot.Stats
	armed, slots, tasks int
	closed              bool // the runtime is shut down

	callbacks []*callback
	queues    []*checkedQueue // kept alive: the values of a collected queue do not count
}

func runForeignRow(t *testing.T, w variant, row foreignRow) {
	f := &foreignTest{variant: w, twoPlaces: twoPlaces{setting: w.setting, t: t}}
	f.open()
	defer f.close()
	f.own(func(t *testing.T) {
		o := foliot.Options{Workers: w.workers}
		if w.manual {
			f.clock = foliot.NewManualClock(kit.Epoch)
			o.Clock = f.clock
		}
		if f.rt = foliot.Default(); !w.shared {
			var err error
			if f.rt, err = foliot.New(o); err != nil {
				t.Fatal(err)
			}
		}
	})
	row.run(f)
	f.check()
	runtime.KeepAlive(f)
}

// inWorkingPlace runs a function in a place where the runtime works: its own place or, with a
// manual clock whose bubble has ended, the foreign one.
func (f *foreignTest) inWorkingPlace(fn func(t *testing.T)) {
	switch {
	case !f.ownEnded:
		f.ownPlace.do(fn)
	case f.manual:
		f.foreignPlace.do(fn)
	}
}

// check checks the expected runs and Stats, and that the runtime works.
func (f *foreignTest) check() {
	f.inWorkingPlace(func(t *testing.T) { f.awaitCallbacks(t) })
	f.own(func(t *testing.T) {
		if f.closed {
			f.wantClosed(t)
			return
		}
		f.within(t, "nothing runs", func() bool { return f.rt.Stats().Running == 0 })
		st := f.rt.Stats()
		for _, n := range []struct {
			name      string
			got, want int
		}{
			{"Armed", st.Armed, f.before.Armed + f.armed},
			{"Slots", st.Slots, f.before.Slots + f.slots},
			{"Tasks", st.Tasks, f.before.Tasks + f.tasks},
		} {
			if n.got != n.want {
				t.Errorf("%s is %d afterwards, want %d", n.name, n.got, n.want)
			}
		}
		f.wantWorks(t) // takes longer than the delay of any callback that must not run
		if !f.shared {
			f.wantShutdown(t)
		}
	})
	for _, c := range f.callbacks {
		switch got, want := c.runs.Load(), c.want.Load(); {
		case f.ownEnded && !f.manual && want > c.base.Load():
			f.t.Errorf("%s: the call is not refused, but it cannot run since its bubble has ended",
				c.what)
		case (!f.ownEnded || f.manual) && got != want:
			f.t.Errorf("%s has run %d times, want %d", c.what, got, want)
		}
	}
}

// now returns the time of the runtime's clock, in its own place.
func (f *foreignTest) now() time.Time {
	if f.clock != nil {
		return f.clock.Now()
	}
	return time.Now()
}

// pass lets some time of the runtime's clock pass.
func (f *foreignTest) pass(d time.Duration) {
	if f.clock != nil {
		f.clock.Advance(d)
		return
	}
	time.Sleep(d)
}

// within waits until ok reports true, for at most five seconds. It is called in the place of
// the runtime.
func (f *foreignTest) within(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * second); !ok(); time.Sleep(100 * microsecond) {
		if f.clock != nil {
			f.mustAdvance(t, millisecond)
		}
		if time.Now().After(end) && !ok() {
			t.Fatalf("%s: not true after 5s", what)
		}
	}
}

// refused reports whether a call has returned an error. The error must name the bubble.
func refused(t *testing.T, what string, err error) bool {
	t.Helper()
	if err != nil && !namesBubble(err.Error(), "foliot") {
		t.Errorf("%s returns %q, want an error of package foliot that names the bubble", what, err)
	}
	return err != nil
}

// start records Stats and arms timers in all shards. They must fire on time, whatever happens in
// the foreign place.
func (f *foreignTest) start() {
	f.own(func(t *testing.T) { f.before = f.rt.Stats() })
	if f.ended {
		return
	}
	c := f.callback("another timer, armed before", 2*brief)
	f.own(func(t *testing.T) {
		f.fromManyGoroutines(func() {
			if _, err := f.rt.AfterFunc(2*brief, c.run); err != nil {
				f.problem("AfterFunc: %v", err)
			}
		})
	})
	c.want.Store(manyGoroutines)
}

// startBeside calls start if others is true, and startAlone otherwise.
func (f *foreignTest) startBeside(others bool) {
	if others {
		f.start()
	} else {
		f.startAlone()
	}
}

// startAlone records Stats and arms nothing.
func (f *foreignTest) startAlone() {
	f.own(func(t *testing.T) { f.before = f.rt.Stats() })
}

// A callback counts its runs. It reports a run that is early or in the wrong place.
type callback struct {
	f    *foreignTest
	what string
	due  atomic.Pointer[time.Time] // it must not run before this
	base atomic.Int64              // runs before the foreign place was used
	want atomic.Int64
	runs atomic.Int64
}

// callback returns a callback that must not run before d has passed.
func (f *foreignTest) callback(what string, d time.Duration) *callback {
	c := &callback{f: f, what: what}
	f.callbacks = append(f.callbacks, c)
	f.own(func(*testing.T) { c.startDelay(d) })
	return c
}

// startDelay says that the callback must not run before d has passed from now. It is called in the
// place of the runtime.
func (c *callback) startDelay(d time.Duration) {
	due := c.f.now().Add(d)
	c.due.Store(&due)
}

func (c *callback) run() {
	c.runs.Add(1)
	if name := bubbleName(); !c.f.manual && name != c.f.ownPlace.name {
		c.f.problem("%s runs in the bubble %q, want %q", c.what, name, c.f.ownPlace.name)
		return
	}
	if left := c.due.Load().Sub(c.f.now()); left > 0 {
		c.f.problem("%s runs %v early", c.what, left)
	}
}

// expect is called with the result of a call that arms the callback. If it is true, one more run is
// wanted.
func (c *callback) expect(accepted bool) {
	if accepted {
		c.want.Add(1)
	}
}

// setBase says that the callback has run as often as wanted, before the foreign place is used.
func (c *callback) setBase() {
	c.base.Store(c.runs.Load())
	c.want.Store(c.runs.Load())
}

func (f *foreignTest) awaitCallbacks(t *testing.T) {
	t.Helper()
	for _, c := range f.callbacks {
		what := fmt.Sprintf("%s runs (%d of %d runs)", c.what, c.runs.Load(), c.want.Load())
		f.within(t, what, func() bool { return c.runs.Load() >= c.want.Load() })
	}
}

// wantShutdown checks that Shutdown returns how many timers are armed and values are queued.
func (f *foreignTest) wantShutdown(t *testing.T) {
	t.Helper()
	for range 3 {
		kit.After(t, f.rt, hour, kit.Never(t, "a timer of an hour"))
	}
	armed := f.rt.Stats().Armed
	got := kit.Shutdown(t, f.rt)
	// A Wait may have fetched a value before Shutdown, but not afterwards.
	if want := armed + f.rt.Stats().Queued; got != want {
		t.Errorf("Shutdown returns %d, want %d", got, want)
	}
	f.wantClosed(t)
}

// wantClosed checks that a runtime is shut down.
func (f *foreignTest) wantClosed(t *testing.T) {
	t.Helper()
	_, err := f.rt.AfterFunc(hour, kit.Never(t, "a timer of a closed runtime"))
	if !errors.Is(err, foliot.ErrClosed) {
		t.Errorf("AfterFunc of a closed runtime returns %v, want ErrClosed", err)
	}
	if err := f.rt.Sleep(context.Background(), hour); !errors.Is(err, foliot.ErrClosed) {
		t.Errorf("Sleep of a closed runtime returns %v, want ErrClosed", err)
	}
	first := kit.Shutdown(t, f.rt)
	if second := kit.Shutdown(t, f.rt); first != second {
		t.Errorf("Shutdown returns %d and then %d", first, second)
	}
}
