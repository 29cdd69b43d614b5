package check

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

// A workload describes the operations of a round.
type workload struct {
	timers int  // reusable timers made before the goroutines start
	most   int  // the maximum number of timers in a round, including those of the goroutines
	ops    []op // each goroutine chooses at random; an op listed twice is twice as likely
}

var (
	// Free is rare, since no other call on the only timer succeeds after it.
	oneTimer = workload{timers: 1, most: 1, ops: []op{
		opReset, opReset, opReset, opReset, opReset, opReset, opReset, opReset,
		opReset, opReset, opReset, opReset, opReset, opReset, opReset,
		opStop, opStop, opStop, opStop, opStop, opStop, opStop, opStop, opStop,
		opDeadline, opDeadline, opDeadline, opDeadline, opDeadline,
		opFree,
	}}
	// The slot of a freed timer is used for a new one, which the old handle must not affect.
	severalTimers = workload{timers: 3, most: 8, ops: []op{
		opReset, opReset, opReset, opReset, opReset, opReset, opReset, opReset,
		opStop, opStop, opStop, opStop,
		opDeadline, opDeadline, opFree, opFree, opNew, opNew,
	}}
	oneShots = workload{timers: 0, most: 12, ops: []op{
		opAfterFunc, opAfterFunc, opAfterFunc, opAfterFunc, opAfterFunc,
		opStop, opStop, opStop, opStop, opReset, opReset, opDeadline, opFree,
	}}
	allOps = workload{timers: 1, most: 12, ops: []op{
		opAfterFunc, opAfterFunc, opNew, opReset, opReset, opReset, opReset,
		opStop, opStop, opStop, opDeadline, opFree,
	}}
)

// An ending says when the subject of a batch is closed.
type ending uint8

const (
	settled ending = iota // when the near timers have run and the far timers are stopped
	abrupt                // during the last round
)

// timeout is how long a test waits for an overdue timer or for Shutdown. The machine may be very
// busy.
const timeout = 30 * time.Second

// A batch is several rounds on one subject. Its goroutines have ended when run returns.
type batch struct {
	s        subject
	workload workload
	watch    stopwatch
	seed     uint64
	wait     time.Duration // how long to wait for an overdue timer

	ids    atomic.Int64
	mu     sync.Mutex
	timers []*testTimer
	calls  []event
	err    error // the first error
}

func newBatch(s subject, load workload, seed uint64) *batch {
	return &batch{s: s, workload: load, watch: stopwatch{time.Now()}, seed: seed, wait: timeout}
}

func (b *batch) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
}

func (b *batch) record(es ...event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, es...)
}

// makeTimer makes a timer. It returns nil if the runtime is closed.
func (b *batch) makeTimer(o op, d time.Duration, client int) (*testTimer, event) {
	tt := newTestTimer(int(b.ids.Add(1)), b.watch, b.seed)
	b.mu.Lock()
	b.timers = append(b.timers, tt)
	b.mu.Unlock()
	e := event{timer: tt.id, client: client, op: o}
	var t handle
	var err error
	e.call = b.watch.now()
	if o == opNew {
		t, err = b.s.newTimer(tt.callback)
	} else {
		e.delay = d
		t, err = b.s.afterFunc(d, tt.callback)
	}
	e.ret = b.watch.now()
	if err != nil {
		if !errors.Is(err, foliot.ErrClosed) {
			b.fail(fmt.Errorf("making a timer: %w", err))
		}
		return nil, e
	}
	e.ok = true
	tt.due.Store(addTime(e.ret, e.delay))
	tt.timer.Store(&t)
	return tt, e
}

// round has a few goroutines operate on the same timers.
func (b *batch) round(n int) {
	rng := rand.New(rand.NewPCG(b.seed, uint64(n)))
	timers := make([]atomic.Pointer[testTimer], b.workload.most)
	var used atomic.Int64
	for range b.workload.timers {
		tt, e := b.makeTimer(opNew, 0, 0)
		b.record(e)
		if tt == nil {
			return
		}
		timers[used.Add(1)-1].Store(tt)
	}
	start := make(chan struct{})
	var wg sync.WaitGroup
	for client := range 3 + rng.IntN(2) {
		rng := rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
		wg.Go(func() {
			var es []event
			<-start
			for range 6 + rng.IntN(5) {
				o := b.workload.ops[rng.IntN(len(b.workload.ops))]
				made := min(int(used.Load()), len(timers))
				if (o == opNew || o == opAfterFunc) && made < len(timers) {
					tt, e := b.makeTimer(o, delay(rng), client)
					es = append(es, e)
					if tt == nil {
						break
					}
					if i := used.Add(1) - 1; int(i) < len(timers) {
						timers[i].Store(tt)
					}
				} else if made > 0 && o != opNew && o != opAfterFunc {
					// The latest timers are the likeliest. A new one may be counted but not stored
					// yet.
					i := made - 1 - min(rng.IntN(made), rng.IntN(made))
					if tt := timers[i].Load(); tt != nil {
						if rng.IntN(3) == 0 {
							tt.waitUntilDue(rng)
						}
						e := tt.do(o, delay(rng), client)
						if o == opReset {
							tt.due.Store(addTime(e.ret, e.delay))
						}
						es = append(es, e)
					}
				}
				pause(rng)
			}
			b.record(es...)
		})
	}
	close(start)
	wg.Wait()
}

// settle stops the timers that are far ahead and waits until nothing is armed. A callback may arm
// its timer again after settle has checked it. Then close counts it.
func (b *batch) settle() {
	limit := time.Now().Add(b.wait)
	for _, tt := range b.timers {
		t := tt.timer.Load()
		for t != nil {
			at, ok := (*t).Deadline()
			if !ok {
				break
			}
			if time.Until(at) > far/2 {
				b.record(tt.do(opStop, 0, clientSettle))
			} else if time.Now().After(limit) {
				b.fail(fmt.Errorf("timer %d is due since %v and has not run", tt.id, time.Since(at)))
				return
			} else {
				time.Sleep(50 * time.Microsecond)
			}
		}
	}
}

// run does the rounds, closes the subject and judges the recorded histories. If disturbed is true,
// it calls disturb again and again meanwhile.
func (b *batch) run(rounds int, end ending, disturbed bool) error {
	stopDisturbing := make(chan struct{})
	var disturber, last sync.WaitGroup
	if disturbed {
		disturber.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stopDisturbing:
					return
				case <-time.After(100 * time.Microsecond):
				}
				if err := b.s.disturb(n); err != nil {
					b.fail(fmt.Errorf("disturb: %w", err))
					return
				}
			}
		})
	}
	for n := range rounds - 1 {
		b.round(n)
	}
	last.Go(func() { b.round(rounds - 1) })
	if end == settled {
		last.Wait()
		b.settle()
		close(stopDisturbing)
		disturber.Wait()
	} else {
		time.Sleep(time.Duration(b.seed%200) * time.Microsecond)
		close(stopDisturbing)
		disturber.Wait()
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	from := b.watch.now()
	armed, err := b.s.close(ctx)
	to := b.watch.now()
	last.Wait()
	if b.err != nil || err != nil {
		return errors.Join(b.err, err)
	}
	return b.judge(armed, from, to)
}

// judge checks the history of every timer, and then the sums.
func (b *batch) judge(armed int, from, to int64) error {
	calls := map[int][]event{}
	for _, e := range b.calls {
		calls[e.timer] = append(calls[e.timer], e)
	}
	var ran uint64
	least, most := 0, 0 // timers armed at the end
	for _, tt := range b.timers {
		h := history{
			timer: tt.id, resolution: b.s.resolution(), calls: append(calls[tt.id], tt.calls...),
			runs: tt.runs, close: from, end: to,
		}
		ran += uint64(len(h.runs))
		v, err := h.judge()
		if err != nil {
			return &illegalHistory{err, h}
		}
		if !v.idle {
			least++
		}
		if v.armed {
			most++
		}
		if !v.idle && armed == 0 {
			return &illegalHistory{errLost, h}
		}
	}
	if armed < least || armed > most {
		return fmt.Errorf("Shutdown returns %d, want %d to %d armed timers", armed, least, most)
	}
	if got := b.s.fired(); got != ran {
		return fmt.Errorf("Fired is %d, want %d runs", got, ran)
	}
	return nil
}

var errLost = errors.New("an arming has neither run nor been stopped nor been counted by Shutdown")

// An illegalHistory is an error with the history that causes it.
type illegalHistory struct {
	err error
	h   history
}

func (w *illegalHistory) Error() string {
	return fmt.Sprintf("timer %d: %v\n%v", w.h.timer, w.err, w.h)
}
func (w *illegalHistory) Unwrap() error { return w.err }

// report fails the test with err, and draws the history if err has one.
func report(t *testing.T, seed uint64, err error) {
	t.Helper()
	var w *illegalHistory
	if errors.As(err, &w) {
		w.h.draw(t)
	}
	t.Fatalf("seed %d: %v", seed, err)
}
