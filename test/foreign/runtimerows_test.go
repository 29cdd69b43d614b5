package foreign_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
)

var timerRows = []runtimeRow{
	row("Runtime.AfterFunc", enters(anError), func(f *runtimeTest) any {
		_, err := f.rt.AfterFunc(brief, f.after(brief))
		return err
	}).more(),
	row("Runtime.AfterFunc, with no delay", enters(anError), func(f *runtimeTest) any {
		_, err := f.rt.AfterFunc(0, f.after(0))
		return err
	}),
	row("Runtime.AfterFunc, with nothing armed", enters(anError), func(f *runtimeTest) any {
		_, err := f.rt.AfterFunc(brief, f.after(brief))
		return err
	}).bare(nil),
	row("Runtime.AfterFuncBatch", enters(anError), func(f *runtimeTest) any {
		_, err := f.rt.AfterFuncBatch(nil, []foliot.Call{{After: brief, Func: f.after(brief)}, {After: 2 * brief, Func: f.after(2 * brief)}})
		return err
	}),
	row("Runtime.Every", enters(anError), func(f *runtimeTest) any {
		run := f.after(brief)
		timer, err := f.rt.Every(brief, func() {
			run()
			if !f.timers[0].Free() {
				f.problem("Free in the callback returns false")
			}
		})
		f.timers = []foliot.Timer{timer}
		return err
	}),
	row("Runtime.NewTimer", works, func(f *runtimeTest) any {
		timer, err := f.rt.NewTimer(f.never)
		timer.Free()
		return err
	}),
	row("Timer.Stop", works, func(f *runtimeTest) any { return f.armed.Stop() && !f.armed.Stop() }).more(),
	row("Timer.Stop, of the only timer", works, func(f *runtimeTest) any { return f.armed.Stop() }).bare(armOne).more(),
	row("Timer.Stop, of many timers", works, stopMany).bare(armMany),
	row("Timer.Free", works, func(f *runtimeTest) any { return f.armed.Free() && !f.armed.Free() }).more(),
	row("Timer.Free, of the only timer", works, func(f *runtimeTest) any { return f.armed.Free() }).bare(armOne).more(),
	row("Timer.Deadline", works, func(f *runtimeTest) any {
		_, armed := f.armed.Deadline()
		_, idle := f.timer.Deadline()
		return armed && !idle
	}),
	row("Timer.Reset", enters(no), func(f *runtimeTest) any { f.planned++; return f.timer.Reset(brief) }).more(),
	row("Timer.Reset, with no delay", enters(no), func(f *runtimeTest) any { f.planned++; return f.timer.Reset(0) }),
	row("Timer.Reset, of an armed timer", enters(no), func(f *runtimeTest) any { return f.armed.Reset(2 * hour) }),
	row("Timer.ResetAt, before all other timers", enters(no), func(f *runtimeTest) any {
		return f.armed.ResetAt(f.began.Add(brief))
	}).bare(func(f *runtimeTest, t *testing.T) { f.armed = kit.After(t, f.rt, hour, func() { f.runs.Add(1) }) }).
		check(func(f *runtimeTest, _ *testing.T, worked bool) {
			if worked {
				f.wanted++
			} else {
				f.armed.Stop()
			}
		}),
	row("Timer.ResetAt, after another timer", func(v variant) outcome {
		if v.made {
			return no // a bubble's time has no monotonic reading, and on a manual clock there is none either
		}
		return itWorks
	}, func(f *runtimeTest) any { return f.armed.ResetAt(f.began.Add(2 * hour)) }),
	row("Timer.ResetAt, without a monotonic reading", enters(no), func(f *runtimeTest) any {
		return f.armed.ResetAt(f.began.Round(0).Add(2 * hour))
	}).on(func(v variant) bool { return !v.made }),
	row("Runtime.Now", works, func(f *runtimeTest) any {
		want := time.Now()
		if f.manual {
			want = f.clock.Now()
		}
		return f.rt.Now().Sub(want).Abs() < second
	}),
}

func armOne(f *runtimeTest, t *testing.T) { f.armed = kit.After(t, f.rt, hour, f.never) }

// armMany arms so many timers that the runtime scrubs when they are stopped.
func armMany(f *runtimeTest, t *testing.T) {
	calls := slices.Repeat([]foliot.Call{{After: hour, Func: f.never}}, 20_000)
	var err error
	if f.timers, err = f.rt.AfterFuncBatch(nil, calls); err != nil {
		t.Error(err)
	}
}

func stopMany(f *runtimeTest) any {
	for _, timer := range f.timers {
		if !timer.Stop() {
			return false
		}
	}
	return true
}

var channelRows = []runtimeRow{
	row("Runtime.NewTicker", waits(anError), func(f *runtimeTest) any { _, err := f.rt.NewTicker(hour); return err }),
	row("Runtime.NewChanTimer", waits(anError), func(f *runtimeTest) any { _, err := f.rt.NewChanTimer(hour); return err }),
	row("Runtime.NewChanTimer, with no delay", waits(anError), func(f *runtimeTest) any { _, err := f.rt.NewChanTimer(0); return err }),
	row("Ticker.Stop", works, func(f *runtimeTest) any { f.ticker.Stop(); return nil }).more(),
	row("Ticker.Stop, with a tick in the channel", works, func(f *runtimeTest) any { f.ticker.Stop(); return nil }).
		bare(func(f *runtimeTest, t *testing.T) {
			f.ticker = kit.NewTicker(t, f.rt, brief)
			f.within(t, "a tick is sent", func() bool { return len(f.ticker.C) == 1 })
		}).
		check(func(f *runtimeTest, t *testing.T, _ bool) {
			if n := len(f.ticker.C); (n == 1) != f.made {
				t.Errorf("the channel has %d ticks after Stop; made in a bubble: %t", n, f.made)
			}
			f.ticker.Stop()
		}),
	row("Ticker.Reset", enters(aPanic), func(f *runtimeTest) any { f.ticker.Reset(2 * hour); return nil }),
	row("ChanTimer.Stop", wakes(no), func(f *runtimeTest) any { return f.chanTimer.Stop() }).more(),
	row("ChanTimer.Reset", enters(aPanic), func(f *runtimeTest) any { f.chanTimer.Reset(2 * hour); return nil }),
	row("Runtime.WithTimeout", waits(anError), func(f *runtimeTest) any {
		return refusedContext(f.rt.WithTimeout(context.Background(), hour))
	}),
	row("Runtime.WithTimeoutCause", waits(anError), func(f *runtimeTest) any {
		return refusedContext(f.rt.WithTimeoutCause(context.Background(), hour, errors.New("slow")))
	}),
	row("Runtime.WithDeadline", waits(anError), func(f *runtimeTest) any {
		return refusedContext(f.rt.WithDeadline(context.Background(), f.rt.Now().Add(hour)))
	}),
	row("Runtime.WithDeadlineCause", waits(anError), func(f *runtimeTest) any {
		return refusedContext(f.rt.WithDeadlineCause(context.Background(), f.rt.Now().Add(hour), errors.New("slow")))
	}),
	row("Runtime.WithTimeout, below a context that ends earlier", waits(anError), func(f *runtimeTest) any {
		parent, cancel := context.WithDeadline(context.Background(), f.rt.Now().Add(time.Minute))
		defer cancel()
		return refusedContext(f.rt.WithTimeout(parent, hour))
	}).on(func(v variant) bool { return !v.manual }),
	row("Runtime.WithTimeout, cancelled in the foreign place", works, func(f *runtimeTest) any {
		before := f.ctx.Err()
		f.cancel()
		return before == nil && f.ctx.Err() == context.Canceled && context.Cause(f.ctx) == context.Canceled
	}).more(),
}

// refusedContext returns the cause of a context that has ended from the start. Then the contexts below
// it have ended, too.
func refusedContext(ctx context.Context, cancel context.CancelFunc) any {
	defer cancel()
	if ctx.Err() == nil {
		return nil
	}
	<-ctx.Done()
	below, cancelBelow := context.WithCancel(ctx)
	defer cancelBelow()
	if below.Err() == nil || ctx.Err() != context.Canceled {
		return errors.New("a context below has not ended, or Err is not Canceled")
	}
	return context.Cause(ctx)
}

var taskRows = []runtimeRow{
	row("Runtime.Spawn", enters(anError), spawnOne).bare(nil).more(),
	row("Runtime.Spawn, of many tasks", enters(anError), func(f *runtimeTest) any {
		for range 50 {
			if err := spawnOne(f); err != nil {
				return err
			}
		}
		return nil
	}).bare(nil),
	row("Runtime.SpawnIdle", works, func(f *runtimeTest) any {
		h, err := f.rt.SpawnIdle(foliot.TaskFunc(func(*foliot.Context) foliot.Status { f.never(); return foliot.Done }))
		return err == nil && h.Alive() && h.Abort()
	}),
	row("TaskHandle.Wake", enters(no), func(f *runtimeTest) any { return f.task.Wake() }).bare((*runtimeTest).taskAlone).more().check(polledIfWoken),
	row("TaskHandle.Wake, while timers are armed", enters(no), func(f *runtimeTest) any { return f.task.Wake() }).
		on(func(v variant) bool { return v.manual || v.made }), // otherwise a worker may run that polls the task
	row("TaskHandle.Wake, of a task that is being polled", func(v variant) outcome {
		if v.made {
			return no
		}
		return itWorks // the goroutine that polls the task sees it
	}, func(f *runtimeTest) any { return f.task.Wake() }).live((*runtimeTest).polling).check(endPoll).on(notShared),
	row("TaskHandle.Abort", works, func(f *runtimeTest) any { return f.task.Abort() && !f.task.Abort() && !f.task.Alive() }).
		bare((*runtimeTest).taskAlone).more(),
	row("TaskHandle.Abort, of a task with a deadline", works, func(f *runtimeTest) any { return f.task.Abort() }).
		bare(func(f *runtimeTest, t *testing.T) {
			f.spawn(t, func(cx *foliot.Context) foliot.Status { cx.WakeAfter(hour); return foliot.Pending })
			f.within(t, "the task has a deadline", func() bool { return f.rt.Stats().Armed > f.before.Armed })
			f.awaitIdle(t)
		}),
	row("TaskHandle.Abort, of a task that is being polled", works, func(f *runtimeTest) any { return f.task.Abort() }).
		live((*runtimeTest).polling).check(endPoll).on(notShared),
	row("TaskHandle.Alive", works, func(f *runtimeTest) any { return f.task.Alive() && !foliot.TaskHandle{}.Alive() }),
}

func spawnOne(f *runtimeTest) any {
	run := f.after(0)
	h, err := f.rt.Spawn(foliot.TaskFunc(func(*foliot.Context) foliot.Status { run(); return foliot.Done }))
	if err != nil && (h.Alive() || h.Wake() || h.Abort()) {
		return errors.New("Spawn returns an error and a valid handle")
	} else if err != nil {
		return err
	}
	return nil
}

func (f *runtimeTest) taskAlone(t *testing.T) { f.makeTask(t) }

// polledIfWoken checks that the task is polled again if Wake returned true, and ends it.
func polledIfWoken(f *runtimeTest, t *testing.T, worked bool) {
	want := int64(1)
	if worked {
		want++
	}
	f.within(t, "the task is polled after Wake", func() bool { return f.polls.Load() >= want })
	f.awaitIdle(t)
	if n := f.polls.Load(); n != want {
		t.Errorf("%d polls, want %d", n, want)
	}
	f.task.Abort()
}

// polling begins a poll that lasts until release is closed.
func (f *runtimeTest) polling(t *testing.T) {
	var began atomic.Bool
	f.spawn(t, func(*foliot.Context) foliot.Status {
		began.Store(true)
		<-f.release
		f.polls.Add(1)
		return foliot.Pending
	})
	for !began.Load() {
		runtime.Gosched() // Sleep would not return: the clock of a bubble stops while the poll waits
	}
}

// endPoll lets the poll end. If Wake has worked, another one follows.
func endPoll(f *runtimeTest, t *testing.T, worked bool) {
	f.releaseNow()
	if f.task.Alive() && worked {
		f.within(t, "the task is polled again", func() bool { return f.polls.Load() == 2 })
	}
	f.within(t, "the poll ends", func() bool { return f.polls.Load() > 0 })
	f.awaitIdle(t)
	f.task.Abort()
}

// In these rows a poll makes the call in the foreign place, and waits for it.
var pollRows = []runtimeRow{
	row("Context.Now", works, func(f *runtimeTest) any { return f.cx.Now() >= 0 }).poll(),
	row("Context.Handle", works, func(f *runtimeTest) any { return f.cx.Handle() == f.task }).poll(),
	row("Context.WakeAfter", enters(aPanic), func(f *runtimeTest) any {
		f.next = f.after(brief)
		f.cx.WakeAfter(brief)
		return nil
	}).poll(),
	row("Context.WakeAt", works, func(f *runtimeTest) any {
		f.next = f.after(0)
		f.cx.WakeAt(f.cx.Now() + brief)
		return nil
	}).poll(),
	row("Context.CancelWake", works, func(f *runtimeTest) any { return f.cx.CancelWake() && !f.cx.CancelWake() }).poll(),
	row("Delay.Poll", enters(aPanic), func(f *runtimeTest) any {
		d := foliot.NewDelay(brief)
		f.next = f.after(brief)
		return !d.Poll(f.cx)
	}).poll(),
	row("Delay.Reset", enters(aPanic), func(f *runtimeTest) any {
		d := foliot.NewDelay(hour)
		d.Reset(brief)
		f.next = f.after(brief)
		return !d.Poll(f.cx)
	}).poll(),
	row("Interval.Poll", enters(aPanic), func(f *runtimeTest) any {
		i := foliot.MustInterval(brief, foliot.Skip)
		f.next = f.after(brief)
		return i.Poll(f.cx) == 0
	}).poll(),
	row("Interval.Reset", enters(aPanic), func(f *runtimeTest) any {
		i := foliot.MustInterval(hour, foliot.Skip)
		i.Reset(brief)
		f.next = f.after(brief)
		return i.Poll(f.cx) == 0
	}).poll(),
}

var queueRows = []runtimeRow{
	row("NewQueue", works, func(f *runtimeTest) any { return foliot.NewQueue[int](f.rt).Len() == 0 }),
	row("Queue.Len", works, func(f *runtimeTest) any { return f.queue.Len() == 2 }),
	row("Queue.Horizon", enters(no), func(f *runtimeTest) any { return f.queue.Horizon() != nil }),
	row("Queue.Push", enters(anError), func(f *runtimeTest) any { _, err := f.queue.Push(brief, 5); return err }).
		check(func(f *runtimeTest, t *testing.T, worked bool) {
			if n := f.queue.Len(); (n == 3) != worked {
				t.Errorf("Push has worked: %t, and Len returns %d", worked, n)
			}
		}),
	row("Queue.Push, while another waits", enters(anError), func(f *runtimeTest) any {
		_, err := f.queue.Push(0, 5)
		return err
	}).live((*runtimeTest).waiting).check(endWait),
	row("Queue.PushAt", enters(anError), func(f *runtimeTest) any { _, err := f.queue.PushAt(f.began.Add(hour), 5); return err }),
	row("Queue.PushAt, without a monotonic reading", enters(anError), func(f *runtimeTest) any {
		_, err := f.queue.PushAt(f.began.Round(0).Add(hour), 5)
		return err
	}),
	row("Queue.Peek", works, func(f *runtimeTest) any { _, v, ok := f.queue.Peek(); return ok && v == 1 }),
	row("Queue.All", works, func(f *runtimeTest) any {
		n := 0
		for range f.queue.All() {
			n++
		}
		return n == 2
	}),
	row("Queue.Drain", works, func(f *runtimeTest) any {
		n := 0
		for range f.queue.Drain() {
			n++
		}
		return n == 2
	}),
	row("Queue.Drain, while another waits", works, func(f *runtimeTest) any {
		for _, v := range f.queue.Drain() {
			return v == 9
		}
		return false
	}).live((*runtimeTest).waiting).check(func(f *runtimeTest, t *testing.T, _ bool) { endWait(f, t, false) }),
	row("Queue.TryWait", enters(no), func(f *runtimeTest) any { return f.queue.TryWait(make([]int, 2)) > 0 }),
	row("Queue.Reset", enters(no), func(f *runtimeTest) any { return f.queue.Reset(f.far, 2*hour) }),
	row("Queue.Remove", works, func(f *runtimeTest) any { v, ok := f.queue.Remove(f.far); return ok && v == 9 }),
	row("Queue.Wait", waits(anError), func(f *runtimeTest) any { _, err := f.queue.Wait(f.soon, make([]int, 2)); return err }).more(),
	row("Queue.Wait, with nothing in the queue", waits(anError), func(f *runtimeTest) any {
		_, err := f.queue.Wait(f.soon, make([]int, 2))
		return err
	}).bare(func(f *runtimeTest, _ *testing.T) { f.queue = foliot.NewQueue[int](f.rt) }).more(),
	row("Queue.Wait, while another waits", waits(anError), func(f *runtimeTest) any {
		_, err := f.queue.Wait(f.soon, make([]int, 2))
		return err
	}).live((*runtimeTest).waiting).check(endWait),
}

// waiting starts a goroutine that waits for a value of a queue in the place of the runtime. It counts
// as a callback.
func (f *runtimeTest) waiting(t *testing.T) {
	f.queue = foliot.NewQueue[int](f.rt)
	f.push(t, hour, 9)
	go func() {
		buf := make([]int, 1)
		if _, err := f.queue.Wait(context.Background(), buf); err != nil || buf[0] != 5 {
			f.problem("Wait in the place of the runtime returns %v, %v, want 5", buf, err)
		}
		f.runs.Add(1)
	}()
	time.Sleep(millisecond) // until it waits
}

// endWait lets the goroutine get the value that it waits for.
func endWait(f *runtimeTest, t *testing.T, worked bool) {
	if !worked {
		f.push(t, 0, 5)
	}
	f.wanted++
	f.within(t, "the goroutine gets the value", func() bool { return f.runs.Load() == f.wanted })
	for range f.queue.Drain() {
	}
}

var expirerRows = []runtimeRow{
	row("NewExpirer", works, func(f *runtimeTest) any {
		e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: f.rt, Expired: func([]int) {}})
		e.Close()
		return e.Len() == 0
	}),
	row("Expirer.Push", enters(anError), func(f *runtimeTest) any { _, err := f.expirer.Push(brief, 3); return err }).
		check(func(f *runtimeTest, t *testing.T, worked bool) {
			if n := f.expirer.Len(); (n == 3) != worked {
				t.Errorf("Push has worked: %t, and Len returns %d", worked, n)
			}
		}),
	row("Expirer.Push, after the earliest value", enters(anError), func(f *runtimeTest) any {
		_, err := f.expirer.Push(2*hour, 3)
		return err
	}),
	row("Expirer.Reset", enters(no), func(f *runtimeTest) any { return f.expirer.Reset(f.held, brief) }),
	row("Expirer.Reset, after the earliest value", enters(no), func(f *runtimeTest) any { return f.expirer.Reset(f.held, 2*hour) }),
	row("Expirer.Lookup", enters(no), func(f *runtimeTest) any { _, _, ok := f.expirer.Lookup(f.held); return ok }),
	row("Expirer.Remove", works, func(f *runtimeTest) any { v, ok := f.expirer.Remove(f.held); return ok && v == 1 }),
	row("Expirer.Remove, of the last values", works, removeAll).
		bare(func(f *runtimeTest, t *testing.T) { f.makeExpirer(t) }).more(),
	row("Expirer.Remove, of many values", works, removeAll).bare(func(f *runtimeTest, t *testing.T) {
		f.makeExpirer(t)
		for v := range 5000 {
			f.expire(t, hour, v)
		}
	}).check(func(f *runtimeTest, t *testing.T, _ bool) {
		f.expire(t, brief, 3)
		f.within(t, "a value expires", func() bool { return f.expired.Load() == 1 })
		f.expirer.Close()
	}),
	row("Expirer.ValueLocked", works, func(f *runtimeTest) any {
		e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: f.rt, Locker: new(sync.Mutex)})
		return e.ValueLocked(f.held) == nil
	}),
	row("Expirer.Len", works, func(f *runtimeTest) any { return f.expirer.Len() == 2 }),
	row("Expirer.All", works, func(f *runtimeTest) any {
		n := 0
		for range f.expirer.All() {
			n++
		}
		return n == 2
	}),
	row("Expirer.Close", works, func(f *runtimeTest) any { f.expirer.Close(); return f.expirer.Len() == 2 }).
		bare(func(f *runtimeTest, t *testing.T) { f.makeExpirer(t) }).more(),
}

func removeAll(f *runtimeTest) any {
	for h, v := range f.expirer.All() {
		if got, ok := f.expirer.Remove(h); !ok || got != v {
			return false
		}
	}
	return f.expirer.Len() == 0
}

var waitRows = []runtimeRow{
	row("Runtime.Sleep", waits(anError), func(f *runtimeTest) any { return f.sleep(brief) }).more(),
	row("Runtime.Sleep, for a microsecond", waits(anError), func(f *runtimeTest) any { return f.sleep(time.Microsecond) }),
	row("Runtime.Sleep, with no delay", works, func(f *runtimeTest) any { return f.sleep(0) }),
	row("Runtime.Sleep, with a context that has ended", works, func(f *runtimeTest) any {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return errors.Is(f.rt.Sleep(ctx, hour), context.Canceled)
	}),
	row("Runtime.Sleep, after another goroutine has slept", waits(anError), func(f *runtimeTest) any { return f.sleep(brief) }).
		bare(func(f *runtimeTest, t *testing.T) {
			var slept atomic.Bool
			go func() { slept.Store(f.wantAt(f.now().Add(brief), "Sleep", f.rt.Sleep(context.Background(), brief))) }()
			f.within(t, "Sleep returns", slept.Load)
		}),
	row("ManualClock.Now", works, func(f *runtimeTest) any { return f.clock.Now().Equal(f.began) }).on(onManual),
	row("ManualClock.Advance", wakes(aPanic), func(f *runtimeTest) any { f.clock.Advance(brief); return nil }).on(onManual).more(),
	row("ManualClock.Advance, of a clock with nothing armed", wakes(aPanic), func(f *runtimeTest) any {
		f.clock.Advance(0)
		f.clock.Advance(hour)
		return nil
	}).bare(nil).on(onManual),
	row("ManualClock.Advance, while another sleeps and waits", wakes(aPanic), func(f *runtimeTest) any {
		f.clock.Advance(hour)
		return nil
	}).live(func(f *runtimeTest, t *testing.T) {
		f.queue = foliot.NewQueue[int](f.rt)
		f.push(t, hour, 9)
		f.wanted += 2
		due := f.now().Add(hour)
		go func() { f.wantAt(due, "Sleep", f.rt.Sleep(context.Background(), hour)); f.runs.Add(1) }()
		go func() { f.wantAt(due, "Wait", f.fetch(9)); f.runs.Add(1) }()
		f.awaitSleep()
	}).on(onManual).check(func(f *runtimeTest, _ *testing.T, worked bool) {
		if !worked {
			f.clock.Advance(hour)
		}
	}),
	row("ManualClock.Advance, while a task is polled", wakes(aPanic), func(f *runtimeTest) any {
		f.clock.Advance(brief)
		return f.polls.Load() > 0 // Advance waits for the poll
	}).live((*runtimeTest).pollingForAWhile).on(onManual).check(func(f *runtimeTest, t *testing.T, _ bool) { endPoll(f, t, false) }),
	row("ManualClock.AdvanceToNext", wakes(aPanic), func(f *runtimeTest) any { f.clock.AdvanceToNext(); return nil }).bare(nil).on(onManual),
	row("ManualClock.Waiters", works, func(f *runtimeTest) any { return f.clock.Waiters() > 0 }).on(onManual),
	row("ManualClock.Next", works, func(f *runtimeTest) any { _, ok := f.clock.Next(); return ok }).on(onManual),
	row("ManualClock.BlockUntil, for those that wait already", works, func(f *runtimeTest) any {
		f.clock.BlockUntil(1)
		return f.clock.BlockUntilDeadline(f.soon, f.began.Add(hour))
	}).on(onManual),
	row("ManualClock.BlockUntil", waits(aPanic), func(f *runtimeTest) any { f.clock.BlockUntil(100); return nil }).on(onManual),
	row("ManualClock.BlockUntilContext", waits(anError), func(f *runtimeTest) any {
		return f.clock.BlockUntilContext(f.soon, 100)
	}).on(onManual),
	row("ManualClock.BlockUntilDeadline", waits(anError), func(f *runtimeTest) any {
		return f.clock.BlockUntilDeadline(f.soon, f.began.Add(3*hour))
	}).on(onManual),
	row("New, on the clock of a runtime of another place", waits(anError), func(f *runtimeTest) any {
		_, err := foliot.New(foliot.Options{Clock: f.clock})
		return err
	}).on(onManual),
}

// awaitSleep waits until a goroutine is in Sleep.
func (f *runtimeTest) awaitSleep() {
	for f.rt.Stats().Armed == f.before.Armed {
		runtime.Gosched()
	}
	time.Sleep(millisecond)
}

func (f *runtimeTest) sleep(d time.Duration) any {
	if err := f.rt.Sleep(f.soon, d); err != nil {
		return err
	}
	return nil
}

// pollingForAWhile is polling. If a call in the foreign place can wait for the poll, it ends by itself.
func (f *runtimeTest) pollingForAWhile(t *testing.T) {
	f.polling(t)
	if !f.made {
		time.AfterFunc(10*millisecond, f.releaseNow)
	}
}

var statsRows = []runtimeRow{
	row("Runtime.Stats", works, func(f *runtimeTest) any {
		st := f.rt.Stats()
		return st.Armed > f.before.Armed && st.Tasks == f.before.Tasks+1 && st.PerWorker[0].Due == 0
	}).more(),
	row("Runtime.Horizon", enters(no), func(f *runtimeTest) any { return f.rt.Horizon() != nil }),
	row("Runtime.Callbacks", works, func(f *runtimeTest) any { return len(f.rt.Callbacks(0)) > 0 }),
	row("Runtime.Resize", enters(anError), func(f *runtimeTest) any { return f.resize(5, 1) }),
	row("Runtime.Resize, to as many as there are", enters(anError), func(f *runtimeTest) any { return f.resize(f.rt.Stats().Workers) }),
	row("Runtime.Stats, and other calls in both places at once", works, func(f *runtimeTest) any {
		for i, timer := range f.timers {
			f.rt.Stats()
			_ = f.rt.Resize(1 + i/100%3)
			_, _ = f.queue.Push(hour, 5)
			f.expirer.Reset(f.held, hour)
			if !timer.Stop() {
				return false
			}
		}
		return nil
	}).busy(),
	row("Histogram.Count", works, func(f *runtimeTest) any { return f.late().Count() == 2 }).on(onlyOne),
	row("Histogram.Max", works, func(f *runtimeTest) any { return f.late().Max() >= 2 }).on(onlyOne),
	row("Histogram.Mean", works, func(f *runtimeTest) any { return f.late().Mean() > 0 }).on(onlyOne),
	row("Histogram.Sum", works, func(f *runtimeTest) any { return f.late().Sum() == 3 }).on(onlyOne),
	row("Histogram.String", works, func(f *runtimeTest) any { return f.late().String() != "" }).on(onlyOne),
	row("Histogram.Sub", works, func(f *runtimeTest) any { return f.late().Sub(f.late()).Count() == 0 }).on(onlyOne),
	row("Histogram.Quantile", works, func(f *runtimeTest) any { return f.late().Quantile(1) >= 2 }).on(onlyOne),
	row("Histogram.MarshalJSON", works, func(f *runtimeTest) any {
		text, err := f.late().MarshalJSON()
		return err == nil && json.Valid(text)
	}).on(onlyOne),
	row("Histogram.All", works, func(f *runtimeTest) any {
		n := uint64(0)
		for _, count := range f.late().All() {
			n += count
		}
		return n == 2
	}).on(onlyOne),
	row("Histogram.Add", works, func(f *runtimeTest) any { return f.late().Add(3).Count() == 3 }).on(onlyOne),
}

// onlyOne selects one variant, for calls that do not depend on the runtime.
func onlyOne(v variant) bool { return !v.manual && !v.made && v.workers == 1 }

// late returns a histogram of 1 and 2.
func (f *runtimeTest) late() foliot.Histogram {
	return foliot.Histogram{}.Add(1, 2)
}

// resize changes the number of workers, and then restores it.
func (f *runtimeTest) resize(numbers ...int) any {
	for _, n := range append(numbers, f.rt.Stats().Workers) {
		if err := f.rt.Resize(n); err != nil {
			return err
		} else if got := f.rt.Stats().Workers; got != n {
			return unless(false, "Workers is %d after Resize(%d)", got, n)
		}
	}
	return nil
}

var shutdownRows = []runtimeRow{
	row("Runtime.Shutdown", wakes(anError), func(f *runtimeTest) any { return f.shutdown(2) }).
		bare(func(f *runtimeTest, t *testing.T) {
			armOne(f, t)
			f.makeTask(t)
			f.chanTimer = kit.NewChanTimer(t, f.rt, hour)
		}).
		more().on(notShared).check(stopAll),
	row("Runtime.Shutdown, while a task is polled", wakes(anError), func(f *runtimeTest) any {
		if err := f.shutdown(0); err != nil {
			return err
		}
		return f.polls.Load() > 0 // Shutdown waits for the poll
	}).live((*runtimeTest).pollingForAWhile).on(notShared).check(endPoll),
	row("Runtime.Shutdown, with a context that ends while a task is polled", wakes(anError), func(f *runtimeTest) any {
		if _, err := f.rt.Shutdown(f.soon); !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		f.closed = true
		return nil
	}).live((*runtimeTest).polling).on(notShared).check(endPoll),
	row("Runtime.Shutdown, with a context of the foreign place, while a task is polled", wakes(anError), func(f *runtimeTest) any {
		ctx, cancel := context.WithTimeout(context.Background(), hour)
		defer cancel()
		_, err := f.rt.Shutdown(ctx)
		f.closed = err == nil
		return err
	}).live((*runtimeTest).pollingForAWhile).on(notShared).check(endPoll),
	row("Runtime.Shutdown, in both places while a task is polled", wakes(anError), func(f *runtimeTest) any { return f.shutdown(0) }).
		live(func(f *runtimeTest, t *testing.T) {
			f.pollingForAWhile(t)
			go func() {
				_, err := f.rt.Shutdown(context.Background())
				f.wantAt(f.began, "Shutdown", err)
				f.runs.Add(1)
			}()
			for range 100 {
				runtime.Gosched() // until it waits, as a rule
			}
		}).on(notShared).check(func(f *runtimeTest, t *testing.T, worked bool) {
		endPoll(f, t, worked)
		f.within(t, "Shutdown returns", func() bool { return f.runs.Load() == 1 })
		f.closed = true
	}),
	row("Runtime.Shutdown, while others sleep and wait", wakes(anError), func(f *runtimeTest) any { return f.shutdown(2) }).
		live(sleepAndWait).on(notShared).check(func(f *runtimeTest, t *testing.T, worked bool) {
		if !worked {
			kit.Shutdown(t, f.rt)
			f.closed = true
		}
		f.within(t, "Sleep and Wait return", func() bool { return f.runs.Load() == 2 })
	}),
	row("Runtime.Shutdown, of the default runtime", works, func(f *runtimeTest) any {
		_, err := foliot.Default().Shutdown(f.soon)
		return unless(err != nil, "it returns no error")
	}).on(onlyOne),
}

// shutdown calls Shutdown, which must find so many timers and values.
func (f *runtimeTest) shutdown(want int) any {
	n, err := f.rt.Shutdown(context.Background())
	if err != nil {
		return err
	}
	f.closed = true
	return unless(n == want, "it returns %d, want %d", n, want)
}

func stopAll(f *runtimeTest, _ *testing.T, worked bool) {
	if !worked {
		f.armed.Stop()
		f.task.Abort()
		f.chanTimer.Stop()
	}
}

// sleepAndWait starts goroutines that call Sleep and Queue.Wait until the runtime is shut down.
func sleepAndWait(f *runtimeTest, t *testing.T) {
	f.queue = foliot.NewQueue[int](f.rt)
	f.push(t, hour, 9)
	for _, wait := range []func() error{
		func() error { return f.rt.Sleep(context.Background(), hour) },
		func() error { _, err := f.queue.Wait(context.Background(), make([]int, 1)); return err },
	} {
		go func() {
			if err := wait(); !errors.Is(err, foliot.ErrClosed) {
				f.problem("Sleep or Wait returns %v, want ErrClosed", err)
			}
			f.runs.Add(1)
		}()
	}
	f.awaitSleep()
}

// useOften arms timers, and starts a goroutine that arms and stops others until release is closed.
func useOften(f *runtimeTest, t *testing.T) {
	for range 300 {
		f.timers = append(f.timers, kit.After(t, f.rt, hour, f.never))
	}
	f.wanted++
	go func() {
		defer f.runs.Add(1)
		for {
			select {
			case <-f.release:
				return
			default:
			}
			if timer, err := f.rt.AfterFunc(hour, f.never); err != nil || !timer.Stop() {
				f.problem("AfterFunc in the place of the runtime returns %v, or Stop returns false", err)
			}
			runtime.Gosched()
		}
	}()
}
