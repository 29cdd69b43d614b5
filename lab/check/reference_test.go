package check

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/foliot-go/foliot"
)

// A defect is a fault of a reference. It shows in one of three cases in which it could.
type defect uint8

const (
	none                defect = iota
	stopKeepsArming            // Stop returns true but does not cancel the arming
	stopReturnsFalse           // Stop returns false although it cancels the arming
	stopMissesRearming         // Stop returns false for an arming made during the callback
	idleStopReturnsTrue        // Stop returns true although nothing is armed
	resetArmsNothing           // Reset returns true but arms nothing
	resetReturnsFalse          // Reset returns false on a live timer
	resetKeepsDeadline         // Reset to a later time keeps the earlier deadline
	runsTwice                  // an arming runs twice
	runsEarly                  // an arming runs at half its delay
	freeKeepsArming            // Free returns true but does not cancel the arming
	freedTimerWorks            // a freed timer can be reset
	deadlineIsOld              // Deadline after a second Reset returns that of the first
)

// A reference is a simple implementation of timers with package time and one lock, which can have a
// defect. It shows that the checks accept correct timers and find each of the defects.
type reference struct {
	defect defect

	mu      sync.Mutex
	rng     *rand.Rand
	closed  bool
	timers  []*refTimer
	runs    uint64
	running sync.WaitGroup // callbacks
}

type refTimer struct {
	r      *reference
	f      func()
	single bool
	// Protected by r.mu.
	armed, stale, running, due bool
	arming                     uint64 // the number of the current arming; others are obsolete
	at                         time.Time
}

func newReference(d defect, seed uint64) *reference {
	return &reference{defect: d, rng: rand.New(rand.NewPCG(seed, 1))}
}

// shows reports whether the reference has the defect d and it shows now.
func (r *reference) shows(d defect) bool { return r.defect == d && r.rng.IntN(3) == 0 }

func (r *reference) newTimer(f func()) (handle, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, foliot.ErrClosed
	}
	t := &refTimer{r: r, f: f}
	r.timers = append(r.timers, t)
	return t, nil
}

func (r *reference) afterFunc(d time.Duration, f func()) (handle, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, foliot.ErrClosed
	}
	t := &refTimer{r: r, f: f, single: true}
	r.timers = append(r.timers, t)
	t.arm(d)
	return t, nil
}

func (r *reference) disturb(int) error         { return nil }
func (r *reference) resolution() time.Duration { return 0 }
func (r *reference) fired() uint64             { return r.runs }

func (r *reference) close(context.Context) (int, error) {
	r.mu.Lock()
	r.closed = true
	armed := 0
	for _, t := range r.timers {
		if t.armed {
			armed++
		}
	}
	r.mu.Unlock()
	r.running.Wait()
	return armed, nil
}

func (t *refTimer) Reset(d time.Duration) bool {
	r := t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.stale && !r.shows(freedTimerWorks) || r.closed || r.shows(resetReturnsFalse) {
		return false
	}
	if r.shows(resetArmsNothing) {
		return true
	}
	t.arm(d)
	return true
}

// arm arms the timer. The caller holds r.mu.
func (t *refTimer) arm(d time.Duration) {
	r := t.r
	at := time.Now().Add(d)
	if !t.armed || !t.at.Before(at) || !r.shows(resetKeepsDeadline) {
		t.arming, t.due = t.arming+1, false
		if r.shows(runsEarly) {
			d /= 2
		}
		arming := t.arming
		time.AfterFunc(d, func() { t.fire(arming) })
	}
	if !t.armed || !r.shows(deadlineIsOld) {
		t.at = at
	}
	t.armed = true
}

func (t *refTimer) Stop() bool {
	r := t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if !t.armed || r.closed {
		return r.shows(idleStopReturnsTrue)
	}
	if t.running && r.shows(stopMissesRearming) {
		return false
	}
	if r.shows(stopKeepsArming) {
		return true
	}
	t.armed, t.due, t.stale = false, false, t.single || t.stale
	return !r.shows(stopReturnsFalse)
}

func (t *refTimer) Free() bool {
	r := t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.stale {
		return false
	}
	t.stale = true
	if !r.shows(freeKeepsArming) {
		t.armed, t.due = false, false
	}
	return true
}

func (t *refTimer) Deadline() (time.Time, bool) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	return t.at, t.armed
}

// fire runs the callback if arming is the current one. If the timer comes due while the callback
// runs, the same goroutine runs it again.
func (t *refTimer) fire(arming uint64) {
	r := t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if !t.armed || t.arming != arming || r.closed {
		return
	}
	t.due = true
	for t.due && !t.running && !r.closed {
		t.armed, t.due, t.running = r.shows(runsTwice), false, true
		t.due = t.armed
		t.stale = t.single || t.stale
		r.runs++
		r.running.Add(1)
		r.mu.Unlock()
		t.f()
		r.mu.Lock()
		r.running.Done()
		t.running = false
	}
}
