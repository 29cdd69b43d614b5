package contract_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/foliot-go/foliot"
)

var taskRows = []foreignRow{
	{"Runtime.Spawn", nil, func(f *foreignTest) { f.spawn(1, false) }},
	{"Runtime.Spawn, with nothing armed", nil, func(f *foreignTest) { f.spawn(1, true) }},
	{"Runtime.Spawn, of many tasks", nil, func(f *foreignTest) { f.spawn(50, true) }},
	{"TaskHandle.Wake", nil, func(f *foreignTest) { f.wake(1, false) }},
	{"TaskHandle.Wake, with nothing armed", nil, func(f *foreignTest) { f.wake(1, true) }},
	{"TaskHandle.Wake, many times", nil, func(f *foreignTest) { f.wake(50, true) }},
	{"TaskHandle.Wake, of a task that is being polled", notEndedNotShared, wakeWhilePolled},
	{"TaskHandle.Abort", nil, func(f *foreignTest) {
		c, h := f.task()
		f.start()
		f.abort(h)
		c.setBase()
	}},
	{"TaskHandle.Abort, of a task with a deadline", nil, func(f *foreignTest) {
		c := f.callback("the task", 0)
		var h foliot.TaskHandle
		f.own(func(t *testing.T) {
			h = f.mustSpawn(t, func(cx *foliot.Context) foliot.Status {
				c.run()
				cx.WakeAfter(hour)
				return foliot.Pending
			})
			f.within(t, "the task has a deadline", func() bool {
				return c.runs.Load() == 1 && f.rt.Stats().Armed > 0
			})
			c.setBase()
		})
		f.startAlone()
		f.armed = -1
		f.abort(h)
	}},
	{"TaskHandle.Abort, of a task that is being polled", notEndedNotShared, abortWhilePolled},
	{"TaskHandle.Alive", nil, func(f *foreignTest) {
		_, alive := f.task()
		c := f.callback("a task that is done", 0)
		var done foliot.TaskHandle
		f.own(func(t *testing.T) {
			done = f.mustSpawn(t, func(*foliot.Context) foliot.Status { c.run(); return foliot.Done })
			f.within(t, "the task is done", func() bool { return !done.Alive() })
			c.setBase()
		})
		f.start()
		f.foreign(func(t *testing.T) {
			if !alive.Alive() || done.Alive() {
				t.Errorf("Alive returns %t and %t for a task that is alive and one that is done",
					alive.Alive(), done.Alive())
			}
		})
		f.own(func(t *testing.T) {
			alive.Abort()
			f.tasks = -1
		})
	}},
}

func (f *foreignTest) mustSpawn(t *testing.T, poll foliot.TaskFunc) foliot.TaskHandle {
	t.Helper()
	h, err := f.rt.Spawn(poll)
	if err != nil {
		t.Fatalf("Spawn: %v", err)
	}
	return h
}

// task spawns a task in the place of the runtime and returns when it has been polled once.
func (f *foreignTest) task() (c *callback, h foliot.TaskHandle) {
	c = f.callback("the task", 0)
	f.own(func(t *testing.T) {
		h = f.mustSpawn(t, func(*foliot.Context) foliot.Status { c.run(); return foliot.Pending })
		f.within(t, "the task is polled", func() bool {
			return c.runs.Load() == 1 && f.rt.Stats().Running == 0
		})
		c.setBase()
	})
	return c, h
}

// spawn tries Spawn. If alone is true, no timer is armed: a timer that fires would start a worker,
// which polls tasks too.
func (f *foreignTest) spawn(n int, alone bool) {
	c := f.callback("a task spawned in the foreign place", 0)
	f.startBeside(!alone)
	f.foreign(func(t *testing.T) {
		for range n {
			h, err := f.rt.Spawn(foliot.TaskFunc(func(*foliot.Context) foliot.Status {
				c.run()
				return foliot.Done
			}))
			if refused(t, "Spawn", err) {
				if h.Alive() || h.Wake() || h.Abort() {
					t.Error("Spawn returns an error and a valid handle")
				}
				continue
			}
			c.expect(true)
		}
	})
}

// wake tries Wake of a task that waits to be woken.
func (f *foreignTest) wake(times int, alone bool) {
	c, h := f.task()
	f.startBeside(!alone)
	woken := false
	f.foreign(func(t *testing.T) {
		for range times {
			woken = h.Wake() || woken
		}
		if !h.Alive() {
			t.Error("the task has ended")
		}
	})
	f.inWorkingPlace(func(t *testing.T) {
		if woken {
			f.within(t, "the task is polled after a Wake that returned true", func() bool {
				return c.runs.Load() > c.base.Load()
			})
		}
		// One poll or several may follow several wake-ups.
		f.within(t, "nothing runs", func() bool { return f.rt.Stats().Running == 0 })
		if !woken && c.runs.Load() > c.base.Load() {
			t.Error("the task is polled after a Wake that returned false")
		}
		c.setBase()
	})
	if woken && f.ownEnded && !f.manual {
		f.t.Error("Wake returns true, but the task cannot be polled since its bubble has ended")
	}
	f.own(func(t *testing.T) {
		c.expect(true)
		if !h.Wake() {
			t.Error("Wake in the place of the runtime returns false afterwards")
		}
		f.awaitCallbacks(t)
		h.Abort()
		f.tasks = -1
	})
}

// abort tries Abort.
func (f *foreignTest) abort(h foliot.TaskHandle) {
	f.tasks = -1
	f.foreign(func(t *testing.T) {
		if !h.Abort() {
			t.Error("Abort returns false")
		}
		if h.Abort() || h.Alive() || h.Wake() {
			t.Error("an aborted task is alive, or can be woken or aborted")
		}
	})
}

// polling spawns a task whose second poll lasts until release is closed. It returns when that poll
// has begun.
func (f *foreignTest) polling() (h foliot.TaskHandle, polls *atomic.Int64) {
	polls = new(atomic.Int64)
	f.own(func(t *testing.T) {
		h = f.mustSpawn(t, func(*foliot.Context) foliot.Status {
			if polls.Add(1) == 2 {
				<-f.release
			}
			return foliot.Pending
		})
		f.within(t, "the task is polled", func() bool {
			return polls.Load() == 1 && f.rt.Stats().Running == 0
		})
		h.Wake()
		for polls.Load() < 2 {
			// Sleep would not return: the clock of a bubble stops while the poll waits.
			runtime.Gosched()
		}
	})
	return h, polls
}

func wakeWhilePolled(f *foreignTest) {
	h, polls := f.polling()
	woken := false
	f.foreign(func(t *testing.T) { woken = h.Wake() })
	f.releaseNow()
	f.own(func(t *testing.T) {
		f.within(t, "the poll ends", func() bool { return f.rt.Stats().Running == 0 })
		want := int64(2)
		if woken {
			want++
			f.within(t, "the task is polled after a Wake that returned true", func() bool {
				return polls.Load() == want
			})
		}
		if !h.Wake() {
			t.Error("Wake in the place of the runtime returns false afterwards")
		}
		f.within(t, "the task is polled", func() bool { return polls.Load() == want+1 })
		h.Abort()
		f.before = f.rt.Stats()
	})
}

func abortWhilePolled(f *foreignTest) {
	h, polls := f.polling()
	f.abort(h)
	f.releaseNow()
	f.own(func(t *testing.T) {
		f.within(t, "the poll and the task end", func() bool { return f.rt.Stats().Tasks == 0 })
		if n := polls.Load(); n != 2 {
			t.Errorf("%d polls of a task that was aborted in the second poll, want 2", n)
		}
		f.before, f.tasks = f.rt.Stats(), 0
	})
}
