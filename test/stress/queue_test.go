package stress_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	"github.com/foliot-go/foliot/wheel"
)

// A queueLoad is a queue and what its users have seen.
type queueLoad struct {
	t      *testing.T
	q      *foliot.Queue[queued]
	pushed atomic.Int64
	left   sync.Map // the numbers of the values that have left the queue
	count  atomic.Int64
}

// A queued is a value: its number and its deadline.
type queued struct {
	n   int64
	due time.Time
}

// take records that a value has left the queue.
func (l *queueLoad) take(v queued) {
	if _, again := l.left.LoadOrStore(v.n, true); again {
		l.t.Errorf("value %d has left the queue twice", v.n)
	}
	l.count.Add(1)
}

// takeDue is take for a value that must be due.
func (l *queueLoad) takeDue(v queued) {
	if early := time.Until(v.due); early > 0 {
		l.t.Errorf("a value was fetched %v early", early)
	}
	l.take(v)
}

// produce pushes values with deadlines in the past and the future, and removes or resets some. It
// ends when the runtime is shut down.
func (l *queueLoad) produce() {
	var handles []wheel.Handle
	for {
		v := queued{l.pushed.Add(1), time.Now().Add(kit.Random(3*millisecond) - millisecond)}
		h, err := l.q.PushAt(v.due, v)
		if err != nil {
			if !errors.Is(err, foliot.ErrClosed) {
				l.t.Error(err)
			}
			l.pushed.Add(-1)
			return
		}
		handles = append(handles, h)
		switch h := handles[kit.Random(len(handles))]; kit.Random(8) {
		case 0:
			if v, ok := l.q.Remove(h); ok {
				l.take(v)
			}
		case 1:
			l.q.Reset(h, 4*millisecond) // later than before
		case 2:
			time.Sleep(kit.Random(50 * microsecond))
		}
		if len(handles) == 1000 {
			handles = handles[:0]
		}
	}
}

// consume fetches values in one of several ways until the runtime is shut down.
func (l *queueLoad) consume(way int, closed *atomic.Bool) {
	buf := make([]queued, 1+7*way)
	for !closed.Load() {
		n := 0
		switch way {
		case 0:
			ctx, cancel := context.WithTimeout(context.Background(), kit.Random(millisecond))
			n, _ = l.q.Wait(ctx, buf)
			cancel()
		case 1:
			n, _ = l.q.Wait(context.Background(), buf)
		case 2:
			n = l.q.TryWait(buf)
		case 3:
			for _, v := range l.q.Drain() {
				l.take(v)
				if kit.Random(4) == 0 {
					break
				}
			}
			time.Sleep(kit.Random(millisecond))
		case 4:
			l.look()
			time.Sleep(kit.Random(millisecond))
		}
		for _, v := range buf[:n] {
			l.takeDue(v)
		}
	}
}

// look checks that Peek and All return deadlines that belong to their values. Reset may have made
// a deadline later.
func (l *queueLoad) look() {
	if at, v, ok := l.q.Peek(); ok && at.Before(v.due) {
		l.t.Errorf("Peek returns %v, want %v or later", at, v.due)
	}
	seen := map[int64]bool{}
	for at, v := range l.q.All() {
		if at.Before(v.due) || seen[v.n] {
			l.t.Errorf("All yields %v, want %v or later; yielded before: %t", at, v.due, seen[v.n])
		}
		seen[v.n] = true
	}
}

// Each value leaves the queue once, by Wait, TryWait, Drain or Remove. Those that are left at
// Shutdown are counted by it, and Drain returns them.
func TestEachValueLeavesAQueueOnceInOneOfManyWays(t *testing.T) {
	eachVariant(t, 300*millisecond, func(t *testing.T, o foliot.Options, d time.Duration) {
		for end := time.Now().Add(d); time.Now().Before(end) && !t.Failed(); {
			r := kit.NewRuntime(t, o)
			l := &queueLoad{t: t, q: foliot.NewQueue[queued](r)}
			var wg sync.WaitGroup
			var closed atomic.Bool
			for range 3 {
				wg.Go(l.produce)
			}
			for way := range 5 {
				wg.Go(func() { l.consume(way, &closed) })
			}
			time.Sleep(d / 8)
			armed := kit.Shutdown(t, r)
			closed.Store(true)
			testkit.Returns(t, "the users of the queue", wg.Wait)
			left := l.q.Len()
			for _, v := range l.q.Drain() {
				l.take(v)
			}
			if left > armed || l.count.Load() != l.pushed.Load() || l.q.Len() != 0 {
				t.Errorf("%d values were pushed, %d have left, %d of them in the end; Shutdown returned %d, and Len is %d",
					l.pushed.Load(), l.count.Load(), left, armed, l.q.Len())
			}
		}
	})
}
