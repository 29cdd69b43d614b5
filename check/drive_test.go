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

// mix is what the goroutines of a round do.
type mix struct {
	timers int    // reusable ones made before the goroutines start
	most   int    // timers in a round, those made by the goroutines included
	kinds  []kind // drawn from at random, so that one named twice is twice as likely
}

var (
	// Free comes seldom, as there is no more to be learned from a single timer after it.
	oneTimer = mix{timers: 1, most: 1, kinds: []kind{
		reset, reset, reset, reset, reset, reset, reset, reset, reset, reset, reset, reset, reset, reset, reset,
		stopped, stopped, stopped, stopped, stopped, stopped, stopped, stopped, stopped,
		deadline, deadline, deadline, deadline, deadline,
		freed,
	}}
	// A freed timer's slot goes to one made later, which the old handle must not reach.
	severalTimers = mix{timers: 3, most: 8, kinds: []kind{
		reset, reset, reset, reset, reset, reset, reset, reset, stopped, stopped, stopped, stopped,
		deadline, deadline, freed, freed, created, created,
	}}
	oneShots = mix{timers: 0, most: 12, kinds: []kind{
		oneShot, oneShot, oneShot, oneShot, oneShot,
		stopped, stopped, stopped, stopped, reset, reset, deadline, freed,
	}}
	everything = mix{timers: 1, most: 12, kinds: []kind{
		oneShot, oneShot, created, reset, reset, reset, reset, stopped, stopped, stopped, deadline, freed,
	}}
)

// ending is how a batch is closed.
type ending uint8

const (
	settled ending = iota // when all that was near has run and all that was far is stopped
	abrupt                // while the last round is under way
)

// patience is how long an overdue timer, or Shutdown, is waited for on a machine that
// may be very busy.
const patience = 30 * time.Second

// batch is some rounds on one subject. Its goroutines are done when run returns.
type batch struct {
	s     subject
	mix   mix
	watch stopwatch
	seed  uint64
	wait  time.Duration // for an overdue timer

	ids     atomic.Int64
	mu      sync.Mutex
	objects []*object
	calls   []event
	err     error // the first
}

func newBatch(s subject, m mix, seed uint64) *batch {
	return &batch{s: s, mix: m, watch: stopwatch{time.Now()}, seed: seed, wait: patience}
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

// birth makes a timer, and answers nil when the runtime is closed.
func (b *batch) birth(k kind, d time.Duration, client int) (*object, event) {
	o := newObject(int(b.ids.Add(1)), b.watch, b.seed)
	b.mu.Lock()
	b.objects = append(b.objects, o)
	b.mu.Unlock()
	e := event{timer: o.id, client: client, kind: k}
	var t handle
	var err error
	e.call = b.watch.now()
	if k == created {
		t, err = b.s.newTimer(o.callback)
	} else {
		e.delay = d
		t, err = b.s.afterFunc(d, o.callback)
	}
	e.ret = b.watch.now()
	if err != nil {
		if !errors.Is(err, foliot.ErrClosed) {
			b.fail(fmt.Errorf("a timer is refused: %w", err))
		}
		return nil, e
	}
	e.ok = true
	o.due.Store(later(e.ret, e.delay))
	o.timer.Store(&t)
	return o, e
}

// round lets a few goroutines loose on the timers of one table.
func (b *batch) round(n int) {
	rng := rand.New(rand.NewPCG(b.seed, uint64(n)))
	table := make([]atomic.Pointer[object], b.mix.most)
	var used atomic.Int64
	for range b.mix.timers {
		o, e := b.birth(created, 0, 0)
		b.record(e)
		if o == nil {
			return
		}
		table[used.Add(1)-1].Store(o)
	}
	start := make(chan struct{})
	var wg sync.WaitGroup
	for client := range 3 + rng.IntN(2) {
		rng := rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
		wg.Go(func() {
			var es []event
			<-start
			for range 6 + rng.IntN(5) {
				k := b.mix.kinds[rng.IntN(len(b.mix.kinds))]
				have := min(int(used.Load()), len(table))
				if (k == created || k == oneShot) && have < len(table) {
					o, e := b.birth(k, delay(rng), client)
					es = append(es, e)
					if o == nil {
						break
					}
					if i := used.Add(1) - 1; int(i) < len(table) {
						table[i].Store(o)
					}
				} else if have > 0 && k != created && k != oneShot {
					// The latest are the likeliest. One just counted may not be there yet.
					i := have - 1 - min(rng.IntN(have), rng.IntN(have))
					if o := table[i].Load(); o != nil {
						if rng.IntN(3) == 0 {
							o.aim(rng)
						}
						e := o.do(k, delay(rng), client)
						if k == reset {
							o.due.Store(later(e.ret, e.delay))
						}
						es = append(es, e)
					}
				}
				dawdle(rng)
			}
			b.record(es...)
		})
	}
	close(start)
	wg.Wait()
}

// settle waits until nothing is armed, having stopped what is far ahead. What a
// callback does with its timer after settle has looked at it is for close to count.
func (b *batch) settle() {
	limit := time.Now().Add(b.wait)
	for _, o := range b.objects {
		t := o.timer.Load()
		for t != nil {
			at, ok := (*t).Deadline()
			if !ok {
				break
			}
			if time.Until(at) > far/2 {
				b.record(o.do(stopped, 0, sweeper))
			} else if time.Now().After(limit) {
				b.fail(fmt.Errorf("timer %d is overdue since %v and does not run", o.id, time.Since(at)))
				return
			} else {
				time.Sleep(50 * time.Microsecond)
			}
		}
	}
}

// run does the rounds, closes the subject and judges what has been recorded.
// Disturbed, it calls disturb all the while.
func (b *batch) run(rounds int, end ending, disturbed bool) error {
	over := make(chan struct{})
	var disturber, last sync.WaitGroup
	if disturbed {
		disturber.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-over:
					return
				case <-time.After(100 * time.Microsecond):
				}
				if err := b.s.disturb(n); err != nil {
					b.fail(fmt.Errorf("the disturbance fails: %w", err))
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
		close(over)
		disturber.Wait()
	} else {
		time.Sleep(time.Duration(b.seed%200) * time.Microsecond)
		close(over)
		disturber.Wait()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
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

// judge looks at every timer's history, then at the sums.
func (b *batch) judge(armed int, from, to int64) error {
	calls := map[int][]event{}
	for _, e := range b.calls {
		calls[e.timer] = append(calls[e.timer], e)
	}
	var ran uint64
	least, most := 0, 0 // timers armed at the end
	for _, o := range b.objects {
		h := history{
			timer: o.id, resolution: b.s.resolution(), calls: append(calls[o.id], o.calls...),
			runs: o.runs, close: from, end: to,
		}
		ran += uint64(len(h.runs))
		v, err := h.judge()
		if err != nil {
			return &wrong{err, h}
		}
		if !v.idle {
			least++
		}
		if v.armed {
			most++
		}
		if !v.idle && armed == 0 {
			return &wrong{errLost, h}
		}
	}
	if armed < least || armed > most {
		return fmt.Errorf("Shutdown says that %d timers were armed, the histories that it was %d to %d", armed, least, most)
	}
	if got := b.s.fired(); got != ran {
		return fmt.Errorf("Stats says that %d callbacks have run, it was %d", got, ran)
	}
	return nil
}

var errLost = errors.New("an arming has neither run nor been stopped, and Shutdown does not count it")

// wrong is a history that is illegal.
type wrong struct {
	err error
	h   history
}

func (w *wrong) Error() string { return fmt.Sprintf("timer %d: %v\n%v", w.h.timer, w.err, w.h) }
func (w *wrong) Unwrap() error { return w.err }

// report fails the test with all there is to say about err.
func report(t *testing.T, seed uint64, err error) {
	t.Helper()
	var w *wrong
	if errors.As(err, &w) {
		w.h.draw(t)
	}
	t.Fatalf("seed %d: %v", seed, err)
}
