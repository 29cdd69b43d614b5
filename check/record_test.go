package check

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"
)

// stopwatch stamps what happens, in nanoseconds since its start, on the monotonic
// clock timers live on.
type stopwatch struct{ start time.Time }

func (w stopwatch) now() int64 { return int64(time.Since(w.start)) }

// far is a delay that does not pass within a test.
const far = time.Hour

// object is a timer under test with all that is known of it.
type object struct {
	id    int
	watch stopwatch

	// timer is published once NewTimer or AfterFunc has returned. The callback of a
	// one-shot may run before that, and finds nil.
	timer atomic.Pointer[handle]
	// due is about when the latest arming but those by the callback comes due: what is
	// called then meets the run.
	due atomic.Int64

	// What follows belongs to the callback, and to nobody else until the runtime is
	// closed. There is deliberately no lock: that the runs of one callback do not
	// overlap, that each sees what the one before has done, and that all of it is
	// seen after Shutdown is for the runtime to see to, and for the race detector to
	// find wanting.
	rng   *rand.Rand
	left  int // calls of its own the callback may still make
	runs  []run
	calls []event
}

func newObject(id int, watch stopwatch, seed uint64) *object {
	rng := rand.New(rand.NewPCG(seed, uint64(id)))
	return &object{id: id, watch: watch, rng: rng, left: rng.IntN(3)}
}

// ownKinds are the calls a callback makes on its own timer.
var ownKinds = []kind{reset, reset, reset, reset, reset, reset, reset, stopped, stopped, deadline, deadline, freed}

// callback is what the timer runs: it takes its time now and then, and uses its own
// timer now and then. The first statement and the last are its stamps.
func (o *object) callback() {
	start := o.watch.now()
	n := len(o.runs)
	o.runs = append(o.runs, run{start: start})
	if o.rng.IntN(2) == 0 {
		spin(time.Duration(o.rng.IntN(int(60 * time.Microsecond))))
	}
	dawdle(o.rng)
	if t := o.timer.Load(); t != nil && o.left > 0 && o.rng.IntN(2) == 0 {
		o.left--
		k := ownKinds[o.rng.IntN(len(ownKinds))]
		o.calls = append(o.calls, o.do(k, delay(o.rng), own))
		dawdle(o.rng)
	}
	o.runs[n].end = o.watch.now()
}

// do makes a call and records it. Any goroutine may.
func (o *object) do(k kind, d time.Duration, client int) event {
	t := *o.timer.Load()
	e := event{timer: o.id, client: client, kind: k}
	e.call = o.watch.now()
	switch k {
	case reset:
		e.delay = d
		e.ok = t.Reset(d)
	case stopped:
		e.ok = t.Stop()
	case freed:
		e.ok = t.Free()
	case deadline:
		var at time.Time
		if at, e.ok = t.Deadline(); e.ok {
			e.at = int64(at.Sub(o.watch.start))
		}
	default:
		panic("not a call on a timer")
	}
	e.ret = o.watch.now()
	return e
}

// delay is mostly within the time a round takes, so that calls meet runs.
func delay(rng *rand.Rand) time.Duration {
	switch rng.IntN(8) {
	case 0:
		return 0
	case 1:
		return far
	case 2, 3:
		return time.Duration(rng.IntN(int(20 * time.Microsecond)))
	default:
		return time.Duration(rng.IntN(int(200 * time.Microsecond)))
	}
}

// dawdle is nothing, a yield, a little work or, rarely, a sleep.
func dawdle(rng *rand.Rand) {
	switch n := rng.IntN(32); {
	case n == 0:
		time.Sleep(time.Duration(rng.IntN(int(100 * time.Microsecond))))
	case n < 8:
		runtime.Gosched()
	case n < 16:
		spin(time.Duration(rng.IntN(int(40 * time.Microsecond))))
	}
}

func spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

// aim waits until o is due or a little more, if that is soon.
func (o *object) aim(rng *rand.Rand) {
	left := time.Duration(o.due.Load()-o.watch.now()) + time.Duration(rng.IntN(int(100*time.Microsecond)))
	if left < 300*time.Microsecond {
		spin(left)
	}
}
