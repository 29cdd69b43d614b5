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

// A loopRow is a use of package loop. It is tried in many settings.
type loopRow struct {
	name string                 // the function or method, then a comma and the condition
	in   func(f *loopTest) bool // reports whether to try it; nil: always
	run  func(f *loopTest)
}

// loopGroups has every row in every setting, with the system clock and with a virtual clock.
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
				run := func(t *testing.T) { runLoopRow(t, s, virtual, row) }
				group.cases = append(group.cases, foreignCase{row.name, covers, run})
			}
			groups = append(groups, group)
		}
	}
	return groups
}

// A loopTest is a loop, the place where it was made, and a foreign place.
type loopTest struct {
	twoPlaces
	virtual bool
	l       *loop.Loop
	closed  bool
	base    time.Time     // when the loop was made
	last    time.Duration // the last result of now in the place of the loop
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
		f.base = time.Now() // before the loop reads the clock, so that now is never less than Time
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
			t.Errorf("Run of a closed loop returns %v, want ErrClosed", err)
		}
	})
}

func loopNotEnded(f *loopTest) bool { return !f.ended }

// now returns the time of the loop's clock. It is called in the place where the loop runs.
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

// works reports whether call returns. If not, it must panic with a text that names the bubble.
func (f *loopTest) works(t *testing.T, what string, call func()) bool {
	t.Helper()
	text := foreignPanic(call)
	if text != "" && !namesBubble(text, "loop") {
		t.Errorf("%s panics with %q", what, text)
	}
	return text == ""
}

// refusedByLoop reports whether a call has returned an error. The error must name the bubble.
func refusedByLoop(t *testing.T, what string, err error) bool {
	t.Helper()
	if err != nil && !namesBubble(err.Error(), "loop") {
		t.Errorf("%s returns %q, want an error of package loop that names the bubble", what, err)
	}
	return err != nil
}

// A loopTrace records which callbacks a loop calls. It reports those that are early.
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

// want checks which callbacks were called, and their order.
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

// background runs the loop on a new goroutine in its own place. It returns a function that waits
// for the result of run.
func (f *loopTest) background(run func(ctx context.Context) error) (result func(t *testing.T) error) {
	var err error
	var returned atomic.Bool
	f.own(func(*testing.T) {
		go func() {
			err = run(context.Background())
			returned.Store(true)
		}()
		time.Sleep(2 * millisecond) // until the loop waits
	})
	return func(t *testing.T) error {
		t.Helper()
		f.within(t, "Run returns", returned.Load)
		return err
	}
}

// within waits until ok reports true, in the place of the loop.
func (f *loopTest) within(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * second); !ok(); time.Sleep(200 * microsecond) {
		if time.Now().After(end) && !ok() {
			t.Fatalf("%s: not true after 5s", what)
		}
	}
}

// wantWorks checks that the loop works in its own place.
func (f *loopTest) wantWorks(t *testing.T) {
	t.Helper()
	tr := &loopTrace{f: f}
	l := f.l
	f.runIdle(t) // calls what the case has left
	l.CallSoon(tr.call("a", 0))
	post(t, l, tr.call("p", 0))
	// Armed in the order of deadlines, so that a slow machine keeps it.
	l.CallLater(brief, tr.call("b", brief))
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

// inBackgroundHere runs the loop on a new goroutine of the calling place. It returns a function
// that reports whether run has returned.
func (f *loopTest) inBackgroundHere(run func(ctx context.Context) error) func() bool {
	var returned atomic.Bool
	go func() {
		if err := run(context.Background()); err != nil {
			f.problem("Run in the place of the loop returns %v", err)
		}
		returned.Store(true)
	}()
	time.Sleep(millisecond)
	return returned.Load
}

func post(t *testing.T, l *loop.Loop, f func()) {
	t.Helper()
	if err := l.Post(f); err != nil {
		t.Errorf("Post in the place of the loop returns %v", err)
	}
}
