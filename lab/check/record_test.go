package check

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"
)

// A stopwatch returns times in nanoseconds since its start, on the monotonic clock.
type stopwatch struct{ start time.Time }

func (w stopwatch) now() int64 { return int64(time.Since(w.start)) }

// far is a delay that does not pass during a test.
const far = time.Hour

// A testTimer is a timer under test with its recorded runs and calls.
type testTimer struct {
	id    int
	watch stopwatch

	// timer is stored when NewTimer or AfterFunc has returned. It is nil in the callback of a
	// one-shot timer that runs before that.
	timer atomic.Pointer[handle]
	// due is the approximate deadline of the latest arming, other than those made by the callback.
	// A call at that time is concurrent with the run.
	due atomic.Int64

	// The callback owns these fields until the runtime is closed. There is no lock on purpose: the
	// runtime must order the runs of a callback one after the other, and all of them before the
	// return of Shutdown. Otherwise the race detector reports it.
	rng       *rand.Rand
	callsLeft int // calls that the callback may still make
	runs      []run
	calls     []event
}

func newTestTimer(id int, watch stopwatch, seed uint64) *testTimer {
	rng := rand.New(rand.NewPCG(seed, uint64(id)))
	return &testTimer{id: id, watch: watch, rng: rng, callsLeft: rng.IntN(3)}
}

// callbackOps are the calls that a callback makes on its own timer.
var callbackOps = []op{
	opReset, opReset, opReset, opReset, opReset, opReset, opReset,
	opStop, opStop, opDeadline, opDeadline, opFree,
}

// callback is the callback of the timer. Sometimes it takes a while, and sometimes it uses its own
// timer. Its first and its last statement record the time.
func (tt *testTimer) callback() {
	start := tt.watch.now()
	n := len(tt.runs)
	tt.runs = append(tt.runs, run{start: start})
	if tt.rng.IntN(2) == 0 {
		spin(time.Duration(tt.rng.IntN(int(60 * time.Microsecond))))
	}
	pause(tt.rng)
	if t := tt.timer.Load(); t != nil && tt.callsLeft > 0 && tt.rng.IntN(2) == 0 {
		tt.callsLeft--
		o := callbackOps[tt.rng.IntN(len(callbackOps))]
		tt.calls = append(tt.calls, tt.do(o, delay(tt.rng), clientCallback))
		pause(tt.rng)
	}
	tt.runs[n].end = tt.watch.now()
}

// do makes a call and returns its event. It may be called on any goroutine.
func (tt *testTimer) do(o op, d time.Duration, client int) event {
	t := *tt.timer.Load()
	e := event{timer: tt.id, client: client, op: o}
	e.call = tt.watch.now()
	switch o {
	case opReset:
		e.delay = d
		e.ok = t.Reset(d)
	case opStop:
		e.ok = t.Stop()
	case opFree:
		e.ok = t.Free()
	case opDeadline:
		var at time.Time
		if at, e.ok = t.Deadline(); e.ok {
			e.at = int64(at.Sub(tt.watch.start))
		}
	default:
		panic("not a call on a timer")
	}
	e.ret = tt.watch.now()
	return e
}

// delay returns a delay that is mostly shorter than a round, so that calls are concurrent with
// runs.
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

// pause does nothing, yields, spins or, rarely, sleeps.
func pause(rng *rand.Rand) {
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

// waitUntilDue waits until about the time when the timer is due, if that is soon.
func (tt *testTimer) waitUntilDue(rng *rand.Rand) {
	left := time.Duration(tt.due.Load()-tt.watch.now()) + time.Duration(rng.IntN(int(100*time.Microsecond)))
	if left < 300*time.Microsecond {
		spin(left)
	}
}
