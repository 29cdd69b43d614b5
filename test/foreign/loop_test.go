package foreign_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// A loopRow is a use of a loop in a foreign place. Its manual clock is a virtual one.
type loopRow struct {
	name  string
	want  want
	call  func(f *loopTest) any
	state loopState
}

// A loopState is what the loop does during the call, in its own place.
type loopState int

const (
	rests       loopState = iota // it does not run; two callbacks are scheduled
	sleeps                       // it runs, with nothing to call
	sleepsUntil                  // it runs, with a callback in an hour
	held                         // it runs until it is idle, and is held
)

// reads is for calls that read the clock: they are refused unless it is a virtual one.
func reads(refused outcome) want {
	return func(v variant) outcome {
		if v.manual {
			return itWorks
		}
		return refused
	}
}

var loopRows = []loopRow{
	{"Loop.Time", reads(aPanic), func(f *loopTest) any { return f.l.Time() >= 0 }, rests},
	{"Loop.Stats", works, func(f *loopTest) any {
		st := f.l.Stats()
		return unless(st.Timers == 1 && st.Next > 0 && st.Next <= hour, "it returns %+v", st)
	}, rests},
	{"Loop.CallSoon", reads(aPanic), func(f *loopTest) any { f.l.CallSoon(f.after(0)); return nil }, rests},
	{"Loop.CallLater", reads(aPanic), func(f *loopTest) any { f.l.CallLater(brief, f.after(brief)); return nil }, rests},
	{"Loop.CallLater, with no delay", reads(aPanic), func(f *loopTest) any { f.l.CallLater(0, f.after(0)); return nil }, rests},
	{"Loop.CallLaterBatch", reads(aPanic), func(f *loopTest) any {
		f.l.CallLaterBatch(nil, []loop.Call{{After: brief, Func: f.after(brief)}})
		return nil
	}, rests},
	{"Loop.CallAt", works, func(f *loopTest) any { f.l.CallAt(f.began+brief, f.after(brief)); return nil }, rests},
	{"Handle.Cancel", works, func(f *loopTest) any { return f.later.Cancel() && !f.later.Cancel() }, rests},
	{"Handle.Pending", works, func(f *loopTest) any { return f.later.Pending() }, rests},
	{"Handle.When", works, func(f *loopTest) any { return f.later.When() >= hour }, rests},
	{"Handle.String", works, func(f *loopTest) any { return f.later.String() != "" }, rests},
	{"Virtual", works, func(*loopTest) any { return loop.New(loop.Options{Clock: loop.Virtual(hour)}).Time() == hour }, rests},
	{"New", works, func(*loopTest) any {
		l, began, took := loop.New(loop.Options{}), time.Now(), time.Duration(0)
		l.CallLater(brief, func() { took = time.Since(began) })
		return l.RunUntilIdle(context.Background()) == nil && took >= brief && l.Close() == nil
	}, rests},
	{"Loop.Run", enters(anError), func(f *loopTest) any { return f.run(f.l.Run) }, rests},
	{"Loop.RunUntilIdle", enters(anError), func(f *loopTest) any { return f.run(f.l.RunUntilIdle) }, rests},
	{"Loop.Run, while it runs", works, func(f *loopTest) any { return errors.Is(f.l.Run(f.soon), loop.ErrRunning) }, sleeps},
	{"Loop.Step", enters(aPanic), func(f *loopTest) any { f.l.Step(); return nil }, rests},
	{"Loop.Post", wakes(anError), func(f *loopTest) any { return f.l.Post(f.after(0)) }, rests},
	{"Loop.Post, while the loop waits", wakes(anError), func(f *loopTest) any { return f.l.Post(f.after(0)) }, sleeps},
	{"Loop.Post, while the loop waits for a deadline", wakes(anError), func(f *loopTest) any { return f.l.Post(f.after(0)) }, sleepsUntil},
	{"Loop.PostBatch", wakes(anError), func(f *loopTest) any { return f.l.PostBatch([]func(){f.after(0)}) }, rests},
	{"Loop.PostBatch, while the loop waits", wakes(anError), func(f *loopTest) any { return f.l.PostBatch([]func(){f.after(0)}) }, sleeps},
	{"Loop.Stop", wakes(aPanic), func(f *loopTest) any { f.l.Stop(); return nil }, rests},
	{"Loop.Stop, while the loop waits", wakes(aPanic), func(f *loopTest) any { f.l.Stop(); return nil }, sleeps},
	{"Loop.Stop, while the loop waits for a deadline", wakes(aPanic), func(f *loopTest) any { f.l.Stop(); return nil }, sleepsUntil},
	{"Loop.Close", wakes(anError), (*loopTest).closeLoop, rests},
	{"Loop.Close, while the loop waits", wakes(anError), (*loopTest).closeLoop, sleeps},
	{"Loop.Close, while the loop waits for a deadline", wakes(anError), (*loopTest).closeLoop, sleepsUntil},
	{"Loop.Hold", works, func(f *loopTest) any { f.releases = append(f.releases, f.l.Hold()); return nil }, rests},
	{"Loop.Hold, released", wakes(aPanic), func(f *loopTest) any {
		f.releases = append(f.releases, f.l.Hold())
		f.releases[0]()
		return nil
	}, rests},
	{"Loop.Hold, released while the loop waits", wakes(aPanic), func(f *loopTest) any { f.releases[0](); return nil }, held},
}

func loopCases() (cases []foreignCase) {
	for _, r := range loopRows {
		for _, v := range variants(r.state != rests, slices.Contains([]string{"Loop.Time", "Loop.Post", "Loop.Stop", "Loop.Close", "Loop.Run"}, r.name)) {
			if v.shared || v.workers > 1 {
				continue
			}
			cases = append(cases, foreignCase{
				r.name + ", " + v.String(),
				[]string{covered("loop", r.name)},
				func(t *testing.T) { runLoopRow(t, v, r) },
			})
		}
	}
	return cases
}

// A loopTest is a loop, the place where it was made, and a foreign place.
type loopTest struct {
	twoPlaces
	l        *loop.Loop
	start    time.Time     // when the loop was made, by the clock of its place
	began    time.Duration // by the loop's clock, before the call
	later    loop.Handle   // due in an hour
	releases []func()      // undo holds
	returned chan error    // belongs to no bubble; has the result of Run
	closed   bool

	planned, wanted int64
	runs            atomic.Int64
}

func runLoopRow(t *testing.T, v variant, r loopRow) {
	f := &loopTest{twoPlaces: twoPlaces{variant: v, t: t}, returned: make(chan error, 1)}
	f.open()
	defer f.close()
	f.own(func(*testing.T) { f.prepare(r.state) })
	f.foreign(func(t *testing.T) {
		if f.try(t, "loop", r.want, func() any { return r.call(f) }) {
			f.wanted += f.planned
		}
	})
	f.own(func(t *testing.T) { f.check(t, r.state) })
}

// prepare makes the loop and brings it into a state.
func (f *loopTest) prepare(state loopState) {
	var o loop.Options
	if f.manual {
		o.Clock = loop.Virtual(hour)
	}
	f.start = time.Now() // before the loop reads the clock
	f.l = loop.New(o)
	if state == held || state == sleepsUntil {
		f.releases = append(f.releases, f.l.Hold()) // a virtual clock does not jump
	}
	if state == rests || state == sleepsUntil {
		f.later = f.l.CallLater(hour, func() {})
	}
	release := f.l.Hold() // a virtual clock does not jump
	f.l.Step()            // shows the timer in Stats
	release()
	switch state {
	case rests:
		f.wanted++
		f.l.CallSoon(func() { f.runs.Add(1) })
	case held:
		go func() { f.returned <- f.l.RunUntilIdle(context.Background()) }()
	default:
		go func() { f.returned <- f.l.Run(context.Background()) }()
	}
	time.Sleep(2 * millisecond) // until the loop waits
	f.began = f.now()
}

// now returns the time of the loop's clock, in its own place. A virtual clock moves only with the loop.
func (f *loopTest) now() time.Duration {
	if f.manual {
		return hour
	}
	return time.Since(f.start)
}

// after returns a callback that must not be called before d has passed.
func (f *loopTest) after(d time.Duration) func() {
	f.planned++
	return func() {
		f.runs.Add(1)
		if left := f.began + d - f.now(); !f.manual && left > 0 {
			f.problem("the loop calls a callback %v early", left)
		}
	}
}

// run runs the loop for an iteration, or until it is idle.
func (f *loopTest) run(run func(context.Context) error) any {
	if f.manual && !f.made {
		f.l.Stop()
	}
	return run(f.soon)
}

func (f *loopTest) closeLoop() any {
	err := f.l.Close()
	f.closed = err == nil
	return err
}

// within waits until ok reports true, in the place of the loop.
func (f *loopTest) within(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * second); !ok(); time.Sleep(200 * time.Microsecond) {
		if time.Now().After(end) && !ok() {
			t.Fatalf("%s: not true after 5s", what)
		}
	}
}

// awaitRun waits until Run returns, in the place of the loop.
func (f *loopTest) awaitRun(t *testing.T, want error) {
	t.Helper()
	f.within(t, "Run returns", func() bool { return len(f.returned) == 1 })
	if err := <-f.returned; err != want {
		t.Errorf("Run returns %v, want %v", err, want)
	}
}

// check checks that the loop works in its own place.
func (f *loopTest) check(t *testing.T, state loopState) {
	l := f.l
	switch {
	case state == rests:
	case f.closed:
		f.awaitRun(t, loop.ErrClosed)
	default:
		f.within(t, "the loop calls the callbacks", func() bool { return f.runs.Load() >= f.wanted })
		l.Stop()
		f.awaitRun(t, nil)
	}
	if !f.closed {
		for _, release := range f.releases {
			release()
		}
		f.later.Cancel()
		f.runIdle(t)
		f.runIdle(t) // after a Stop, the first one ends after an iteration
		f.wantWorks(t)
		if err := l.Close(); err != nil {
			t.Errorf("Close returns %v", err)
		}
	}
	if err := l.Run(context.Background()); err != loop.ErrClosed {
		t.Errorf("Run of a closed loop returns %v, want ErrClosed", err)
	}
}

func (f *loopTest) runIdle(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*second)
	defer cancel()
	if err := f.l.RunUntilIdle(ctx); err != nil {
		t.Errorf("RunUntilIdle in the place of the loop returns %v", err)
	}
}

func (f *loopTest) wantWorks(t *testing.T) {
	t.Helper()
	l, run := f.l, func() { f.runs.Add(1) }
	l.CallSoon(run)
	l.CallLater(brief, run)
	l.CallLaterBatch(nil, []loop.Call{{After: brief, Func: run}})
	l.CallAt(l.Time()+brief, run)
	f.runIdle(t)
	if n := f.runs.Load(); n != f.wanted+4 && !f.closed {
		t.Errorf("the loop has called %d callbacks, want %d", n, f.wanted+4)
	}
	go func() { f.returned <- l.Run(context.Background()) }()
	time.Sleep(millisecond) // until the loop waits
	if err := l.Post(run); err != nil {
		t.Errorf("Post in the place of the loop returns %v", err)
	}
	f.within(t, "a Post wakes the loop", func() bool { return f.runs.Load() == f.wanted+5 })
	l.Stop()
	f.awaitRun(t, nil)
}
