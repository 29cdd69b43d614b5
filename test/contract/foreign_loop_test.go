package contract_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// A loopRow is a use of the package loop that is tried in many settings.
type loopRow struct {
	name string // the function or method, and after a comma what is special
	in   func(f *loopTest) bool
	run  func(f *loopTest)
}

// loopGroups tries every row in every setting, with the clock of the system and with a virtual one.
func loopGroups() (groups []foreignGroup) {
	rows := slices.Concat(loopCallRows, loopRunRows, loopPostRows)
	for _, s := range settings {
		for _, virtual := range []bool{false, true} {
			group := foreignGroup{name: "loop, " + s.String()}
			if virtual {
				group.name = "virtual " + group.name
			}
			for _, row := range rows {
				if row.in != nil && !row.in(&loopTest{twoPlaces: twoPlaces{setting: s}, virtual: virtual}) {
					continue
				}
				covers := []string{foreignRow{name: row.name}.covers("loop"), "loop.New", "loop.Virtual"}
				group.cases = append(group.cases, foreignCase{row.name, covers, func(t *testing.T) { runLoopRow(t, s, virtual, row) }})
			}
			groups = append(groups, group)
		}
	}
	return groups
}

// A loopTest is a loop with a place of its own, and a foreign place.
type loopTest struct {
	twoPlaces
	virtual bool
	l       *loop.Loop
	closed  bool
	base    time.Time     // when the loop was made
	last    time.Duration // what now has returned last in the place of the loop
}

func runLoopRow(t *testing.T, s setting, virtual bool, row loopRow) {
	f := &loopTest{twoPlaces: twoPlaces{setting: s, t: t}, virtual: virtual}
	f.open()
	defer f.close()
	f.own(func(*testing.T) {
		var o loop.Options
		if virtual {
			o.Clock = loop.Virtual(hour)
		}
		f.base = time.Now() // before the loop reads the clock, so that now is never behind Time
		f.l = loop.New(o)
	})
	row.run(f)
	f.own(func(t *testing.T) {
		if !f.closed {
			f.wantWorks(t)
			if err := f.l.Close(); err != nil {
				t.Errorf("Close returns %v", err)
			}
		}
		if err := f.l.Run(context.Background()); !errors.Is(err, loop.ErrClosed) {
			t.Errorf("Run of a closed loop returns %v", err)
		}
	})
}

func loopNotEnded(f *loopTest) bool { return !f.ended }

// now returns the time of the loop's clock. It is called where the loop runs, or before that.
func (f *loopTest) now() time.Duration {
	read := func(*testing.T) { f.last = time.Since(f.base) }
	switch {
	case f.virtual:
		return f.l.Time()
	case bubbleName() == f.ownPlace.name:
		read(nil)
	default:
		f.own(read)
	}
	return f.last
}

// works reports whether f returns. If not, it must panic with a text that names the bubble.
func (f *loopTest) works(t *testing.T, what string, call func()) bool {
	t.Helper()
	text := foreignPanic(call)
	if text != "" && !advises(text, "loop") {
		t.Errorf("%s panics with %q", what, text)
	}
	return text == ""
}

// refusedByLoop reports whether a call has returned an error. The error must name the bubble.
func refusedByLoop(t *testing.T, what string, err error) bool {
	t.Helper()
	if err != nil && !advises(err.Error(), "loop") {
		t.Errorf("%s returns %q, which does not begin with loop: and name the bubble", what, err)
	}
	return err != nil
}

// A loopTrace notes which callbacks a loop calls, and whether it calls them too early.
type loopTrace struct {
	f     *loopTest
	names []string
	n     atomic.Int64
}

// call returns a callback that must not be called before d has passed.
func (tr *loopTrace) call(name string, d time.Duration) func() { return tr.callAt(name, tr.f.now()+d) }

// callAt returns a callback that must not be called before now returns due.
func (tr *loopTrace) callAt(name string, due time.Duration) func() {
	return func() {
		tr.names = append(tr.names, name)
		tr.n.Add(1)
		if left := due - tr.f.now(); left > 0 {
			tr.f.problem("the loop calls %s %v early", name, left)
		}
	}
}

// want checks what was called, and in which order.
func (tr *loopTrace) want(t *testing.T, names ...string) {
	t.Helper()
	if !slices.Equal(tr.names, names) {
		t.Errorf("the loop has called %q, want %q", tr.names, names)
	}
}

// runIdle runs the loop in its own place until it is idle.
func (f *loopTest) runIdle(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*second)
	defer cancel()
	if err := f.l.RunUntilIdle(ctx); err != nil {
		t.Errorf("RunUntilIdle in the place of the loop returns %v", err)
	}
}

// background runs the loop in its own place on a goroutine, and returns a function that
// waits for the result of Run.
func (f *loopTest) background(run func(ctx context.Context) error) (result func(t *testing.T) error) {
	var err error
	var over atomic.Bool
	f.own(func(*testing.T) {
		go func() {
			err = run(context.Background())
			over.Store(true)
		}()
		time.Sleep(2 * millisecond) // it waits
	})
	return func(t *testing.T) error {
		t.Helper()
		f.within(t, "Run returns", over.Load)
		return err
	}
}

// within waits until ok reports true, in the place of the loop.
func (f *loopTest) within(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * second); !ok(); time.Sleep(200 * microsecond) {
		if time.Now().After(end) && !ok() {
			t.Fatalf("%s: not so after five seconds", what)
		}
	}
}

// wantWorks checks that the loop works in its own place.
func (f *loopTest) wantWorks(t *testing.T) {
	t.Helper()
	tr := &loopTrace{f: f}
	l := f.l
	f.runIdle(t) // what is left
	l.CallSoon(tr.call("a", 0))
	post(t, l, tr.call("p", 0))
	l.CallLater(brief, tr.call("b", brief)) // in the order of deadlines: a slow machine does not change it
	l.CallLater(2*brief, tr.call("c", 2*brief))
	l.CallLaterBatch(nil, []loop.Call{{After: 3 * brief, Func: tr.call("d", 3*brief)}})
	last := tr.call("e", 4*brief)
	l.CallAt(l.Time()+4*brief, last)
	if h := l.CallLater(brief, tr.call("x", 0)); !h.Cancel() || h.Pending() {
		t.Error("Cancel returns false, or the handle is pending afterwards")
	}
	f.runIdle(t)
	tr.want(t, "a", "p", "b", "c", "d", "e")

	tr = &loopTrace{f: f}
	first, second := tr.call("first", 0), tr.call("second", 0)
	ended := f.inBackgroundHere(l.Run)
	post(t, l, first)
	f.within(t, "a Post wakes the loop", func() bool { return tr.n.Load() == 1 })
	l.Stop()
	f.within(t, "Run returns after Stop", ended)
	release := l.Hold()
	ended = f.inBackgroundHere(l.RunUntilIdle)
	post(t, l, second)
	f.within(t, "a Post wakes the loop", func() bool { return tr.n.Load() == 2 })
	release()
	f.within(t, "RunUntilIdle returns after the release of a hold", ended)

	l.CallSoon(tr.call("step", 0))
	if _, ok := l.Step(); ok {
		t.Error("Step returns true with nothing left to call")
	}
	tr.want(t, "first", "second", "step")
	release = l.Hold()
	ctx, cancel := context.WithTimeout(context.Background(), brief)
	defer cancel()
	if err := l.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Run returns %v when its context ends", err)
	}
	release()
}

// inBackgroundHere runs the loop on a goroutine of the place where it is called, and returns
// a function that reports whether it has returned.
func (f *loopTest) inBackgroundHere(run func(ctx context.Context) error) func() bool {
	var over atomic.Bool
	go func() {
		if err := run(context.Background()); err != nil {
			f.problem("Run in the place of the loop returns %v", err)
		}
		over.Store(true)
	}()
	time.Sleep(millisecond)
	return over.Load
}

func post(t *testing.T, l *loop.Loop, f func()) {
	t.Helper()
	if err := l.Post(f); err != nil {
		t.Errorf("Post in the place of the loop returns %v", err)
	}
}
