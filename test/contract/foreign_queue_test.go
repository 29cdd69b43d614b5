package contract_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/foliot-go/foliot/wheel"
)

var queueRows = []foreignRow{
	{"NewQueue", nil, func(f *foreignTest) {
		f.start()
		var q *checkedQueue
		f.foreign(func(t *testing.T) {
			q = f.newQueue()
			if n := q.Len(); n != 0 {
				t.Errorf("Len returns %d, want 0", n)
			}
		})
		f.own(func(t *testing.T) {
			q.push(t, brief, 1)
			q.wantValues(t, 1)
		})
	}},
	{"Queue.Len", nil, func(f *foreignTest) {
		q, _ := f.filledQueue()
		f.start()
		f.foreign(func(t *testing.T) {
			if n := q.Len(); n != 3 {
				t.Errorf("Len returns %d, want 3", n)
			}
		})
		f.own(func(t *testing.T) { q.wantValues(t, 1, 2) })
	}},
	{"Queue.Horizon", nil, func(f *foreignTest) {
		q, _ := f.filledQueue()
		f.start()
		f.foreign(func(t *testing.T) {
			if h := q.Horizon(); h != nil && countOf(h) != 3 {
				t.Errorf("Horizon has %d values, want 3, or nil", countOf(h))
			}
		})
		f.own(func(t *testing.T) { q.wantValues(t, 1, 2) })
	}},
	{"Queue.Push", nil, func(f *foreignTest) {
		q, _ := f.filledQueue()
		f.start()
		pushed := false
		f.own(func(*testing.T) { q.expect(4*brief, 5) })
		f.foreign(func(t *testing.T) {
			_, err := q.Push(4*brief, 5)
			pushed = !refused(t, "Push", err)
			if n := q.Len(); !pushed && n != 3 {
				t.Errorf("Push returns an error, but then Len returns %d, want 3", n)
			}
		})
		f.own(func(t *testing.T) { q.wantRest(t, pushed, 5) })
	}},
	{"Queue.Push, while another waits", notEnded, func(f *foreignTest) {
		q, _ := f.filledQueue()
		f.start()
		pushed := false
		w := f.waiting(q, 2)
		f.own(func(*testing.T) { q.expect(brief, 5) })
		f.foreign(func(t *testing.T) {
			_, err := q.Push(brief, 5)
			pushed = !refused(t, "Push", err)
		})
		f.own(func(t *testing.T) {
			if pushed {
				f.within(t, "Wait returns the pushed value", func() bool { return len(w.values()) == 3 })
			}
			w.wantAnother(t)
		})
	}},
	{"Queue.PushAt", nil, func(f *foreignTest) {
		f.pushAt(4*brief, func() time.Time { return f.now().Add(4 * brief) })
	}},
	{"Queue.PushAt, without a monotonic reading", nil, func(f *foreignTest) {
		f.pushAt(4*brief-millisecond, func() time.Time { return f.now().Round(0).Add(4 * brief) })
	}},
	{"Queue.Peek", nil, func(f *foreignTest) {
		q, _ := f.filledQueue()
		f.start()
		f.foreign(func(t *testing.T) {
			if _, v, ok := q.Peek(); !ok || v != 1 {
				t.Errorf("Peek returns %d, %t, want 1, true", v, ok)
			}
		})
		f.own(func(t *testing.T) { q.wantRest(t, false, 0) })
	}},
	{"Queue.All", nil, func(f *foreignTest) {
		q, _ := f.filledQueue()
		f.start()
		f.foreign(func(t *testing.T) {
			n := 0
			for range q.All() {
				n++
			}
			if n != 3 {
				t.Errorf("All yields %d values, want 3", n)
			}
		})
		f.own(func(t *testing.T) { q.wantRest(t, false, 0) })
	}},
	{"Queue.Drain", nil, func(f *foreignTest) {
		q, _ := f.filledQueue()
		f.start()
		f.foreign(func(t *testing.T) {
			if got := drain(q.Queue, 2); !slices.Equal(got, []int{1, 2}) {
				t.Errorf("Drain yields %v, want [1 2]", got)
			}
		})
		f.own(func(t *testing.T) {
			if n := q.Len(); n != 1 {
				t.Errorf("Len returns %d, want 1", n)
			}
			q.wantAnother(t)
		})
	}},
	{"Queue.Drain, while another waits", notEnded, func(f *foreignTest) {
		q := f.queueOf(9)
		f.start()
		w := f.waiting(q, 0)
		f.foreign(func(t *testing.T) {
			if got := drain(q.Queue, 2); !slices.Equal(got, []int{9}) {
				t.Errorf("Drain yields %v, want [9]", got)
			}
		})
		f.own(func(t *testing.T) { w.wantAnother(t) })
	}},
	{"Queue.TryWait, with values due", nil, func(f *foreignTest) {
		q, _ := f.filledQueue()
		f.own(func(t *testing.T) { f.pass(3 * brief) })
		f.start()
		var got []int
		f.foreign(func(t *testing.T) {
			if got = try(q.Queue, 3); len(got) > 0 {
				q.wantOrdered(t, got, 1, 2)
			}
		})
		f.own(func(t *testing.T) {
			if len(got) == 0 {
				q.wantValues(t, 1, 2)
			}
			q.wantAnother(t)
		})
	}},
	{"Queue.TryWait, with nothing due", nil, func(f *foreignTest) {
		q := f.queueOf(9)
		f.start()
		f.foreign(func(t *testing.T) {
			if got := try(q.Queue, 3); len(got) > 0 {
				t.Errorf("TryWait returns %v, want nothing", got)
			}
		})
		f.own(func(t *testing.T) { q.wantAnother(t) })
	}},
	{"Queue.Reset", nil, func(f *foreignTest) {
		q, far := f.filledQueue()
		f.start()
		accepted := false
		f.foreign(func(t *testing.T) { accepted = q.Reset(far, 4*brief) })
		f.own(func(t *testing.T) {
			if accepted {
				q.expect(0, 9)
			}
			q.wantRest(t, accepted, 9)
			if v, ok := q.Remove(far); ok == accepted {
				t.Errorf("Remove returns %d, %t after a Reset that returned %t", v, ok, accepted)
			}
		})
	}},
	{"Queue.Remove", nil, func(f *foreignTest) {
		q, far := f.filledQueue()
		f.start()
		f.foreign(func(t *testing.T) {
			if v, ok := q.Remove(far); !ok || v != 9 {
				t.Errorf("Remove returns %d, %t, want 9, true", v, ok)
			}
			if v, ok := q.Remove(far); ok || v != 0 {
				t.Errorf("a second Remove returns %d, %t, want 0, false", v, ok)
			}
			if n := q.Len(); n != 2 {
				t.Errorf("Len returns %d, want 2", n)
			}
		})
		f.own(func(t *testing.T) { q.wantRest(t, false, 0) })
	}},
	{"Queue.Wait, with nothing due", nil, func(f *foreignTest) {
		q := f.queueOf(9)
		f.start()
		f.waitWithNothingDue(q)
		f.own(func(t *testing.T) {
			if n := q.Len(); n != 1 {
				t.Errorf("Len returns %d, want 1", n)
			}
			q.wantAnother(t)
		})
	}},
	{"Queue.Wait, with nothing in the queue", nil, func(f *foreignTest) {
		q := f.queueOf()
		f.start()
		f.waitWithNothingDue(q)
		f.own(func(t *testing.T) { q.wantAnother(t) })
	}},
	{"Queue.Wait, with values due", nil, func(f *foreignTest) {
		q, _ := f.filledQueue()
		f.own(func(t *testing.T) { f.pass(3 * brief) })
		f.start()
		var buf [3]int
		n, ctx := 0, f.limit()
		f.foreign(func(t *testing.T) {
			var err error
			if n, err = q.Wait(ctx, buf[:]); err != nil {
				waitEnded(t, n, err)
			} else {
				q.wantOrdered(t, buf[:n], 1, 2)
			}
		})
		f.own(func(t *testing.T) {
			if n == 0 {
				q.wantValues(t, 1, 2)
			}
			q.wantAnother(t)
		})
	}},
	{"Queue.Wait, while another waits", notEnded, func(f *foreignTest) {
		q := f.queueOf(9)
		f.start()
		w := f.waiting(q, 0)
		f.waitWithNothingDue(q)
		f.own(func(t *testing.T) { w.wantAnother(t) })
	}},
	{"Queue.Wait, with a context that has ended", nil, func(f *foreignTest) {
		q, _ := f.filledQueue()
		f.start()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		f.foreign(func(t *testing.T) {
			n, err := q.Wait(ctx, make([]int, 3))
			waitEnded(t, n, err)
		})
		f.own(func(t *testing.T) { q.wantRest(t, false, 0) })
	}},
	{"Queue.Wait, while the foreign place advances the clock", onManual, func(f *foreignTest) {
		q := f.queueOf(9)
		f.startAlone()
		n := 0
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		ctx.Done() // makes the channel outside of all bubbles
		f.foreign(func(t *testing.T) {
			returned := make(chan struct{})
			go func() {
				defer close(returned)
				var err error
				buf := make([]int, 3)
				if n, err = q.Wait(ctx, buf); err != nil {
					waitEnded(t, n, err)
				} else if n != 1 || buf[0] != 9 {
					t.Errorf("Wait returns %v, want [9]", buf[:n])
				}
			}()
			if !f.advance(t, hour) {
				cancel()
			}
			<-returned
		})
		f.own(func(t *testing.T) {
			if n == 0 {
				f.mustAdvance(t, hour)
				q.wantValues(t, 9)
			}
			q.wantAnother(t)
		})
	}},
}

// pushAt tries PushAt with the result of when. The value must not be fetched before d has passed.
func (f *foreignTest) pushAt(d time.Duration, when func() time.Time) {
	q, _ := f.filledQueue()
	f.start()
	pushed := false
	var at time.Time
	f.own(func(*testing.T) {
		q.expect(d, 5)
		at = when()
	})
	f.foreign(func(t *testing.T) {
		_, err := q.PushAt(at, 5)
		pushed = !refused(t, "PushAt", err)
		if n := q.Len(); !pushed && n != 3 {
			t.Errorf("PushAt returns an error, but then Len returns %d, want 3", n)
		}
	})
	f.own(func(t *testing.T) { q.wantRest(t, pushed, 5) })
}

// queueOf returns a queue, made in the place of the runtime, with values that are due in an hour.
func (f *foreignTest) queueOf(values ...int) (q *checkedQueue) {
	f.own(func(t *testing.T) {
		q = f.newQueue()
		for _, v := range values {
			q.push(t, hour, v)
		}
	})
	return q
}

// filledQueue returns a queue with the values 1 and 2, which are due soon, and 9, which is due in
// an hour. far is the handle of the latter.
func (f *foreignTest) filledQueue() (q *checkedQueue, far wheel.Handle) {
	f.own(func(t *testing.T) {
		q = f.newQueue()
		q.push(t, 2*brief, 2)
		q.push(t, brief, 1)
		far = q.push(t, hour, 9)
	})
	return q, far
}

// wantRest checks that a filledQueue delivers 1 and 2, then v if more is true, and then a value
// that is pushed.
func (q *checkedQueue) wantRest(t *testing.T, more bool, v int) {
	t.Helper()
	want := []int{1, 2}
	if more {
		want = append(want, v)
	}
	q.wantValues(t, want...)
	q.wantAnother(t)
}

// wantAnother checks that the queue delivers a value that is pushed now.
func (q *checkedQueue) wantAnother(t *testing.T) {
	t.Helper()
	q.push(t, brief, 100)
	q.wantValues(t, 100)
}

// waiting starts a goroutine that fetches values. It returns when the goroutine has fetched n.
func (f *foreignTest) waiting(q *checkedQueue, n int) (w *queueWaiter) {
	f.own(func(t *testing.T) {
		w = q.wait()
		f.within(t, "Wait returns the due values", func() bool { return len(w.values()) == n })
		f.pass(millisecond) // until it waits again
	})
	return w
}

// wantAnother checks that the goroutine fetches a value that is pushed now, and ends it.
func (w *queueWaiter) wantAnother(t *testing.T) {
	t.Helper()
	n := len(w.values())
	w.q.push(t, brief, 100)
	w.q.f.within(t, "the waiting goroutine gets a value", func() bool { return len(w.values()) == n+1 })
	if got := w.values()[n]; got != 100 {
		t.Errorf("Wait returns %d, want 100", got)
	}
	if err := w.end(t); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait in the place of the runtime returns %v, want Canceled", err)
	}
}

// waitWithNothingDue tries Wait while no value is due.
func (f *foreignTest) waitWithNothingDue(q *checkedQueue) {
	ctx := f.limit()
	f.foreign(func(t *testing.T) {
		n, err := q.Wait(ctx, make([]int, 3))
		waitEnded(t, n, err)
	})
}

// waitEnded checks that Wait has returned no value and an error: that of its context, or one that
// names the bubble.
func waitEnded(t *testing.T, n int, err error) {
	t.Helper()
	if n != 0 || err == nil {
		t.Errorf("Wait returns %d, %v, want 0 and an error", n, err)
	} else if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		refused(t, "Wait", err)
	}
}
