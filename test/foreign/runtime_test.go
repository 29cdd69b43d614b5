package foreign_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
	"github.com/foliot-go/foliot/wheel"
)

// A runtimeRow is a use of a runtime in a foreign place.
type runtimeRow struct {
	name string
	want want
	call func(f *runtimeTest) any

	isBare  bool                                            // nothing is armed but what prepare has made
	isLive  bool                                            // it needs the place where the runtime was made
	hasMore bool                                            // every run tries it with more variants
	inPoll  bool                                            // the call is made in a poll, with a Context
	only    func(v variant) bool                            // the variants with which it is tried; nil: all
	prepare func(f *runtimeTest, t *testing.T)              // runs before the call, in the runtime's place
	then    func(f *runtimeTest, t *testing.T, worked bool) // runs after it, in the runtime's place
}

func row(name string, want want, call func(f *runtimeTest) any) runtimeRow {
	return runtimeRow{name: name, want: want, call: call}
}

// bare is for a row that needs a runtime with nothing else armed.
func (r runtimeRow) bare(prepare func(f *runtimeTest, t *testing.T)) runtimeRow {
	r.isBare, r.prepare = true, prepare
	return r
}

// live is for a row that needs something that goes on in the place of the runtime.
func (r runtimeRow) live(prepare func(f *runtimeTest, t *testing.T)) runtimeRow {
	r.isLive = true
	return r.bare(prepare)
}

// poll is for a row that uses the Context of a poll.
func (r runtimeRow) poll() runtimeRow {
	r.isBare, r.isLive, r.inPoll = true, true, true
	return r
}

// more is for a row that every run tries in a second bubble, and after the end of the first, too.
func (r runtimeRow) more() runtimeRow {
	r.hasMore = true
	return r
}

// busy is for a row that uses the runtime while goroutines in its own place do so too.
func (r runtimeRow) busy() runtimeRow {
	r.isLive, r.prepare = true, useOften
	r.then = func(f *runtimeTest, _ *testing.T, _ bool) { f.releaseNow() }
	return r
}

func (r runtimeRow) on(only func(v variant) bool) runtimeRow {
	r.only = only
	return r
}

func (r runtimeRow) check(then func(f *runtimeTest, t *testing.T, worked bool)) runtimeRow {
	r.then = then
	return r
}

func onManual(v variant) bool  { return v.manual }
func notShared(v variant) bool { return !v.shared }

func runtimeCases(tables ...[]runtimeRow) (cases []foreignCase) {
	for _, r := range slices.Concat(tables...) {
		for _, v := range variants(r.isLive, r.hasMore) {
			if r.only == nil || r.only(v) {
				cases = append(cases, foreignCase{
					r.name + ", " + v.String(),
					[]string{covered("foliot", r.name)},
					func(t *testing.T) { runRuntimeRow(t, v, r) },
				})
			}
		}
	}
	return cases
}

// A runtimeTest is a runtime with what it can have, the place where it was made, and a foreign place.
type runtimeTest struct {
	twoPlaces
	rt      *foliot.Runtime
	clock   *foliot.ManualClock // nil: the system clock
	before  foliot.Stats
	release chan struct{} // belongs to no bubble; closed at the end of the case, or before
	once    sync.Once     // closes release
	closed  bool          // the call has shut the runtime down

	timer     foliot.Timer // made by NewTimer, not armed
	armed     foliot.Timer // due in an hour
	task      foliot.TaskHandle
	polls     atomic.Int64 // of task
	queue     *foliot.Queue[int]
	far       wheel.Handle // of the value 9 in queue, which is due in an hour; 1 is due
	expirer   *foliot.Expirer[int]
	held      wheel.Handle // of the value 1 in expirer, which expires in an hour; so does 2
	expired   atomic.Int64
	chanTimer *foliot.ChanTimer // due in an hour, like the ticker
	ticker    *foliot.Ticker
	ctx       context.Context // ends in an hour
	cancel    context.CancelFunc
	timers    []foliot.Timer // for rows that need many

	cx    *foliot.Context // in a poll
	next  func()          // called by the poll after that
	began time.Time       // by the runtime's clock, before the call

	planned int64        // callbacks that the call has armed, if it works
	wanted  int64        // callbacks that must run
	runs    atomic.Int64 // callbacks that have run
}

func runRuntimeRow(t *testing.T, v variant, r runtimeRow) {
	f := &runtimeTest{twoPlaces: twoPlaces{variant: v, t: t}, release: make(chan struct{})}
	f.open()
	defer f.close()
	defer f.releaseNow()
	f.own(func(t *testing.T) {
		f.rt = f.newRuntime(t)
		f.before = f.rt.Stats()
		if !r.isBare {
			f.fill(t)
		}
		if r.prepare != nil {
			r.prepare(f, t)
		}
		f.began = f.now()
	})
	worked := false
	call := func(t *testing.T) {
		if worked = f.try(t, "foliot", r.want, func() any { return r.call(f) }); worked {
			f.wanted += f.planned
		}
	}
	if r.inPoll {
		f.own(func(t *testing.T) { f.pollTwice(t, call) })
	} else {
		f.foreign(call)
	}
	f.own(func(t *testing.T) {
		if r.then != nil {
			r.then(f, t, worked)
		}
		if f.closed {
			f.wantClosed(t)
			return
		}
		if r.isBare {
			f.fill(t)
		}
		f.wantWorks(t)
	})
	runtime.KeepAlive(f)
}

func (f *runtimeTest) newRuntime(t *testing.T) *foliot.Runtime {
	if f.shared {
		return foliot.Default()
	}
	o := foliot.Options{Workers: f.workers}
	if f.manual {
		f.clock = foliot.NewManualClock(kit.Epoch)
		o.Clock = f.clock
	}
	rt, err := foliot.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func (f *runtimeTest) releaseNow() { f.once.Do(func() { close(f.release) }) }

// now returns the time of the runtime's clock, in its own place.
func (f *runtimeTest) now() time.Time {
	if f.clock != nil {
		return f.clock.Now()
	}
	return time.Now()
}

// after returns the callback of a timer that the call arms for d. It must run in the place of the
// runtime and not be early.
func (f *runtimeTest) after(d time.Duration) func() {
	f.planned++
	return f.callback(func() time.Time { return f.began.Add(d) })
}

func (f *runtimeTest) callback(due func() time.Time) func() {
	return func() {
		f.runs.Add(1)
		if name := bubbleName(); !f.manual && name != f.ownPlace.name {
			f.problem("a callback runs in the bubble %q, want %q", name, f.ownPlace.name)
		} else if left := due().Sub(f.now()); left > 0 {
			f.problem("a callback runs %v early", left)
		}
	}
}

// never is the callback of a timer that must not fire.
func (f *runtimeTest) never() { f.problem("a timer of an hour has fired") }

// within waits until ok reports true, for at most five seconds, in the place of the runtime.
func (f *runtimeTest) within(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * second); !ok(); time.Sleep(100 * time.Microsecond) {
		if f.clock != nil {
			f.clock.Advance(millisecond)
		}
		if time.Now().After(end) && !ok() {
			t.Fatalf("%s: not true after 5s", what)
		}
	}
}

func (f *runtimeTest) awaitIdle(t *testing.T) {
	t.Helper()
	f.within(t, "nothing runs", func() bool { return f.rt.Stats().Goroutines == 0 })
}

// fill arms timers that must fire on time, whatever happens in the foreign place, and makes what the
// rows use.
func (f *runtimeTest) fill(t *testing.T) {
	f.makeTask(t)
	f.timer = kit.NewTimer(t, f.rt, func() { f.runs.Add(1) })
	f.armed = kit.After(t, f.rt, hour, f.never)
	f.makeQueue(t)
	f.makeExpirer(t)
	f.chanTimer, f.ticker = kit.NewChanTimer(t, f.rt, hour), kit.NewTicker(t, f.rt, hour)
	f.ctx, f.cancel = f.rt.WithTimeout(context.Background(), hour)
	if !f.ended {
		f.afterFuncs(t, 3*brief)
	}
}

// makeTask spawns a task that has been polled once, and waits to be woken.
func (f *runtimeTest) makeTask(t *testing.T) {
	f.polls.Store(0)
	f.spawn(t, func(*foliot.Context) foliot.Status { f.polls.Add(1); return foliot.Pending })
	f.within(t, "the task is polled", func() bool { return f.polls.Load() == 1 })
	f.awaitIdle(t)
}

func (f *runtimeTest) spawn(t *testing.T, poll foliot.TaskFunc) {
	t.Helper()
	var err error
	if f.task, err = f.rt.Spawn(poll); err != nil {
		t.Fatalf("Spawn: %v", err)
	}
}

func (f *runtimeTest) makeQueue(t *testing.T) {
	f.queue = foliot.NewQueue[int](f.rt)
	f.push(t, 0, 1)
	f.far = f.push(t, hour, 9)
}

func (f *runtimeTest) push(t *testing.T, d time.Duration, v int) wheel.Handle {
	t.Helper()
	h, err := f.queue.Push(d, v)
	if err != nil {
		t.Errorf("Push: %v", err)
	}
	return h
}

func (f *runtimeTest) makeExpirer(t *testing.T) {
	f.expirer = foliot.NewExpirer(foliot.ExpirerOptions[int]{
		Runtime: f.rt, Expired: func(values []int) { f.expired.Add(int64(len(values))) },
	})
	f.held = f.expire(t, hour, 1)
	f.expire(t, hour, 2)
}

func (f *runtimeTest) expire(t *testing.T, d time.Duration, v int) wheel.Handle {
	t.Helper()
	h, err := f.expirer.Push(d, v)
	if err != nil {
		t.Errorf("Schedule: %v", err)
	}
	return h
}

// afterFuncs arms timers on many goroutines. The shard of a timer depends on the goroutine, so all
// shards get one.
func (f *runtimeTest) afterFuncs(t *testing.T, d time.Duration) {
	t.Helper()
	const n = 16
	f.wanted += n
	due := f.now().Add(d)
	var alive, returned sync.WaitGroup
	alive.Add(n)
	for range n {
		returned.Go(func() {
			alive.Done()
			alive.Wait()
			if _, err := f.rt.AfterFunc(d, f.callback(func() time.Time { return due })); err != nil {
				f.problem("AfterFunc in the place of the runtime: %v", err)
			}
		})
	}
	returned.Wait()
}

// pollTwice makes a call in the second poll of a task that has a deadline in an hour.
func (f *runtimeTest) pollTwice(t *testing.T, call func(t *testing.T)) {
	f.spawn(t, func(cx *foliot.Context) foliot.Status {
		switch f.polls.Load() {
		case 0:
			cx.WakeAfter(hour)
		case 1:
			f.cx, f.began = cx, f.now()
			f.foreign(call)
		default:
			if f.next != nil {
				f.next()
			}
		}
		f.polls.Add(1)
		return foliot.Pending
	})
	f.within(t, "the first poll", func() bool { return f.polls.Load() == 1 })
	f.awaitIdle(t)
	if !f.task.Wake() {
		t.Error("Wake returns false")
	}
	f.within(t, "the second poll", func() bool { return f.polls.Load() >= 2 })
	f.within(t, "the poll that the call has requested", func() bool { return f.runs.Load() >= f.wanted })
	f.task.Abort()
	f.within(t, "the task ends", func() bool { return f.rt.Stats().Tasks == f.before.Tasks })
}

// wantWorks checks that the runtime works in its own place, and has forgotten nothing.
func (f *runtimeTest) wantWorks(t *testing.T) {
	t.Helper()
	f.within(t, "the callbacks run", func() bool { return f.runs.Load() >= f.wanted })
	// The task is first, because a timer that fires would start a worker, which polls tasks too.
	f.awaitIdle(t)
	polls := f.polls.Load()
	if !f.task.Wake() {
		t.Error("Wake returns false afterwards")
	}
	f.within(t, "the task is polled", func() bool { return f.polls.Load() == polls+1 })

	f.afterFuncs(t, brief)
	f.wanted++
	if !f.timer.Reset(brief) {
		t.Error("Reset returns false afterwards")
	}
	expired := f.expired.Load()
	f.expire(t, brief, 100)
	f.chanTimer.Reset(brief)
	f.ticker.Reset(brief)
	ctx, cancel := f.rt.WithTimeout(context.Background(), brief)
	defer cancel()
	var slept, fetched atomic.Bool
	due := f.now().Add(brief)
	f.push(t, brief, 100)
	go func() { slept.Store(f.wantAt(due, "Sleep", f.rt.Sleep(context.Background(), brief))) }()
	go func() { fetched.Store(f.wantAt(due, "Wait", f.fetch(100))) }()
	f.within(t, "the callbacks run", func() bool { return f.runs.Load() >= f.wanted })
	f.within(t, "a value expires", func() bool { return f.expired.Load() > expired })
	f.within(t, "a ChanTimer and a Ticker send", func() bool { return len(f.chanTimer.C) == 1 && len(f.ticker.C) == 1 })
	f.within(t, "a context ends", func() bool { return errors.Is(ctx.Err(), context.DeadlineExceeded) })
	f.within(t, "Sleep and Wait return", func() bool { return slept.Load() && fetched.Load() })

	f.timer.Free()
	f.armed.Stop()
	f.task.Abort()
	f.expirer.Close()
	f.chanTimer.Stop()
	f.ticker.Stop()
	f.cancel()
	for range f.queue.Drain() {
	}
	f.awaitIdle(t)
	st := f.rt.Stats()
	if st.Armed != f.before.Armed || st.Timers != f.before.Timers || st.Tasks != f.before.Tasks {
		t.Errorf("Armed, Timers, Tasks are %d, %d, %d afterwards, want %d, %d, %d",
			st.Armed, st.Timers, st.Tasks, f.before.Armed, f.before.Timers, f.before.Tasks)
	}
	if n := f.runs.Load(); n != f.wanted {
		t.Errorf("%d callbacks have run, want %d", n, f.wanted)
	}
	if !f.shared {
		if n := kit.Shutdown(t, f.rt); n != 0 {
			t.Errorf("Shutdown returns %d, want 0", n)
		}
		f.wantClosed(t)
	}
}

// wantAt reports a problem if a call in the place of the runtime has failed, or has returned before due.
// It returns true.
func (f *runtimeTest) wantAt(due time.Time, what string, err error) bool {
	if left := due.Sub(f.now()); err != nil || left > 0 {
		f.problem("%s in the place of the runtime returns %v, %v early", what, err, left)
	}
	return true
}

// fetch waits for values until it gets last.
func (f *runtimeTest) fetch(last int) error {
	for buf := make([]int, 1); buf[0] != last; {
		if _, err := f.queue.Wait(context.Background(), buf); err != nil {
			return err
		}
	}
	return nil
}

func (f *runtimeTest) wantClosed(t *testing.T) {
	t.Helper()
	if _, err := f.rt.AfterFunc(hour, f.never); !errors.Is(err, foliot.ErrClosed) {
		t.Errorf("AfterFunc of a closed runtime returns %v, want ErrClosed", err)
	}
	if first, second := kit.Shutdown(t, f.rt), kit.Shutdown(t, f.rt); first != second {
		t.Errorf("Shutdown returns %d and then %d", first, second)
	}
}
