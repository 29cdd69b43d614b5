package bench

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/foliot-go/foliot"
)

// timers is a contender that calls functions after a delay. Work is given to it by the loop and not by the
// operation: so a handle of any type goes in and out of no interface, which would allocate for the larger
// ones.
type timers interface {
	can(op operation) bool
	arm(d time.Duration, f func()) error           // one that fires
	fill(n int) (lost int)                         // n that stay, an hour or two ahead
	pairs(from, to int) (lost int)                 // arm and stop at once
	requests(from, to int) (lost int)              // the same, but one of a thousand fires, a millisecond later
	reset(some []int, d time.Duration) (lost int)  // of those that stay
	resetAt(some []int, when time.Time) (lost int) // the same, where the new deadline is known as a time
	stop(some []int) (lost int)                    // of those that stay, each once;
	refill(some []int) (lost int)                  // and arm others in their places
	handOver(ops int) (lost int)                   // arm on one goroutine, stop on another
	register(ops int) (lost int)                   // arm in a row, by the batch where that is possible
	unregister(ops int) (lost int)                 // stop those
	weigh(w *weight, n int) (lost int)             // arm n and see what they weigh
	close()
}

// An operation is one that not every contender has.
type operation uint8

const (
	toReset operation = iota
	toResetAt
)

// funcs is what a contender has to bring along to be timers.
type funcs[H any] struct {
	afterFunc func(d time.Duration, f func()) (H, error)
	stop      func(H) bool
	reset     func(H, time.Duration) bool                     // nil: it cannot
	resetAt   func(H, time.Time) bool                         // nil: it cannot
	batch     func(dst []H, calls []foliot.Call) ([]H, error) // nil: one by one
	close     func()                                          // nil: nothing is left behind
}

// A fleet is the timers of one contender.
type fleet[H any] struct {
	f       funcs[H]
	stay    []H // armed by fill
	passing []H // armed by register
	delays  []time.Duration
	calls   []foliot.Call
}

// The delays of timers that stay. None comes due while something is measured.
const ahead = time.Hour

// newFleet makes timers of functions.
func newFleet[H any](f funcs[H]) timers {
	return &fleet[H]{f: f, delays: delays()}
}

// delays returns 65,536 delays of one to two hours, at random.
func delays() []time.Duration {
	d := make([]time.Duration, 1<<16)
	for i := range d {
		d[i] = ahead + rand.N(ahead)
	}
	return d
}

func nothing() {}

func (t *fleet[H]) delay(i int) time.Duration { return t.delays[i&(len(t.delays)-1)] }

func (t *fleet[H]) can(op operation) bool {
	switch op {
	case toReset:
		return t.f.reset != nil
	default:
		return t.f.resetAt != nil
	}
}

func (t *fleet[H]) arm(d time.Duration, f func()) error {
	_, err := t.f.afterFunc(d, f)
	return err
}

// armAll arms a timer in every place, by several goroutines, as the standard library and others have a place
// for the timers of each processor.
func (t *fleet[H]) armAll(places []H) (lost int) {
	return share(4*runtime.GOMAXPROCS(0), len(places), func(from, to int) (lost int) {
		for i := from; i < to; i++ {
			h, err := t.f.afterFunc(t.delay(i), nothing)
			if err != nil {
				lost++
			}
			places[i] = h
		}
		return lost
	})
}

func (t *fleet[H]) fill(n int) (lost int) {
	before := len(t.stay)
	t.stay = append(t.stay, make([]H, n)...)
	return t.armAll(t.stay[before:])
}

func (t *fleet[H]) pairs(from, to int) (lost int) {
	for i := from; i < to; i++ {
		if h, err := t.f.afterFunc(t.delay(i), nothing); err != nil || !t.f.stop(h) {
			lost++
		}
	}
	return lost
}

func (t *fleet[H]) requests(from, to int) (lost int) {
	for i := from; i < to; i++ {
		d := t.delay(i)
		slow := i%1000 == 999
		if slow {
			d = time.Millisecond
		}
		if h, err := t.f.afterFunc(d, nothing); err != nil || !slow && !t.f.stop(h) {
			lost++
		}
	}
	return lost
}

func (t *fleet[H]) reset(some []int, d time.Duration) (lost int) {
	for _, k := range some {
		if !t.f.reset(t.stay[k], d) {
			lost++
		}
	}
	return lost
}

func (t *fleet[H]) resetAt(some []int, when time.Time) (lost int) {
	for _, k := range some {
		if !t.f.resetAt(t.stay[k], when) {
			lost++
		}
	}
	return lost
}

func (t *fleet[H]) stop(some []int) (lost int) {
	for _, k := range some {
		if !t.f.stop(t.stay[k]) {
			lost++
		}
	}
	return lost
}

func (t *fleet[H]) refill(some []int) (lost int) {
	for i, k := range some {
		h, err := t.f.afterFunc(t.delay(i), nothing)
		if err != nil {
			lost++
		}
		t.stay[k] = h
	}
	return lost
}

func (t *fleet[H]) handOver(ops int) (lost int) {
	return handOver(ops, func(i int) H { h, _ := t.f.afterFunc(t.delay(i), nothing); return h }, t.f.stop)
}

// inBatch is how many timers are registered in one call.
const inBatch = 1000

func (t *fleet[H]) register(ops int) (lost int) {
	if cap(t.passing) < ops {
		t.passing = make([]H, 0, ops)
	}
	t.passing = t.passing[:0]
	if t.f.batch == nil {
		for i := range ops {
			h, err := t.f.afterFunc(t.delay(i), nothing)
			if err != nil {
				lost++
			}
			t.passing = append(t.passing, h)
		}
		return lost
	}
	if t.calls == nil {
		for _, d := range t.delays {
			t.calls = append(t.calls, foliot.Call{After: d, Func: nothing})
		}
	}
	for len(t.passing) < ops {
		size := min(inBatch, ops-len(t.passing))
		from := len(t.passing) % (len(t.calls) - inBatch)
		var err error
		if t.passing, err = t.f.batch(t.passing, t.calls[from:from+size]); err != nil {
			return ops - len(t.passing)
		}
	}
	return 0
}

func (t *fleet[H]) unregister(ops int) (lost int) {
	for _, h := range t.passing[:ops] {
		if !t.f.stop(h) {
			lost++
		}
	}
	clear(t.passing)
	return lost
}

func (t *fleet[H]) weigh(w *weight, n int) (lost int) {
	all := weigh(w, n, func(places []H) { lost += t.armAll(places) })
	t.stay = append(t.stay, all...)
	return lost
}

func (t *fleet[H]) close() {
	for _, h := range t.stay {
		t.f.stop(h)
	}
	t.stay = nil
	if t.f.close != nil {
		t.f.close()
	}
	settle()
}

// settle lets every processor schedule for a while: the standard library keeps a stopped timer until the P
// whose it is gets to that.
func settle() {
	share(4*runtime.GOMAXPROCS(0), 1, func(int, int) int {
		for range 1000 {
			runtime.Gosched()
		}
		return 0
	})
}

// An entrant is a contender with its timers, in a scenario.
type entrant struct {
	contender
	timers
	pace map[string]int // operations in a turn, by contest
	out  bool           // it has failed and is not asked any more
}

// field makes the timers of all contenders that the sheet wants and that can hold n, and has them hold n. Each
// is closed by the function returned. Nothing is done for those that keep does not want.
func (s *sheet) field(n int, keep func(contender) bool) (all []*entrant, done func()) {
	for _, c := range contenders {
		if c.timers == nil || !s.o.wants(c) || keep != nil && !keep(c) || s.ctx.Err() != nil {
			continue
		}
		if c.most > 0 && n > c.most {
			s.fail(c.Name, n, errors.New(c.why))
			continue
		}
		t, err := c.timers()
		if err != nil {
			s.fail(c.Name, n, err)
			continue
		}
		e := &entrant{contender: c, timers: t, pace: map[string]int{}}
		if lost := t.fill(n); lost != 0 {
			s.fail(c.Name, n, lostError{lost, n})
			t.close()
			continue
		}
		all = append(all, e)
	}
	return all, func() {
		for _, e := range all {
			e.timers.close()
		}
	}
}
