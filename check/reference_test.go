package check

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/foliot-go/foliot"
)

// defect is what a reference does wrong, one time in three that it could.
type defect uint8

const (
	none               defect = iota
	stopLies                  // Stop is true and the arming stays
	stopIsCoy                 // Stop is false although it took the arming back
	stopIsBlind               // Stop is false for an arming made while the callback runs
	stopIsGenerous            // Stop is true although nothing is armed
	resetForgets              // Reset is true and arms nothing
	resetRefuses              // Reset is false on a live timer
	resetKeepsDeadline        // Reset to a later time leaves the earlier one
	runsTwice                 // an arming runs twice
	runsEarly                 // an arming runs at half its delay
	freeForgets               // Free is true and the arming stays
	freeIsUndone              // a freed timer can be used on
	deadlineIsOld             // Deadline after a second Reset is that of the first
)

// reference is a plain implementation of timers, one lock for all of them on top of
// package time, in which defects can be planted. It shows that the recorder and the
// model raise no false alarm, and that they find each of the defects.
type reference struct {
	defect defect

	mu     sync.Mutex
	rng    *rand.Rand
	closed bool
	timers []*refTimer
	runs   uint64
	busy   sync.WaitGroup // callbacks running
}

type refTimer struct {
	r      *reference
	f      func()
	single bool
	// All of it under r.mu.
	armed, stale, running, due bool
	arming                     uint64 // counts the armings: what names another is void
	at                         time.Time
}

func newReference(d defect, seed uint64) *reference {
	return &reference{defect: d, rng: rand.New(rand.NewPCG(seed, 1))}
}

// goesWrong is whether d is to show now.
func (r *reference) goesWrong(d defect) bool { return r.defect == d && r.rng.IntN(3) == 0 }

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
	r.busy.Wait()
	return armed, nil
}

func (t *refTimer) Reset(d time.Duration) bool {
	r := t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.stale && !r.goesWrong(freeIsUndone) || r.closed || r.goesWrong(resetRefuses) {
		return false
	}
	if r.goesWrong(resetForgets) {
		return true
	}
	t.arm(d)
	return true
}

// arm needs r.mu.
func (t *refTimer) arm(d time.Duration) {
	r := t.r
	at := time.Now().Add(d)
	if !t.armed || !t.at.Before(at) || !r.goesWrong(resetKeepsDeadline) {
		t.arming, t.due = t.arming+1, false
		if r.goesWrong(runsEarly) {
			d /= 2
		}
		arming := t.arming
		time.AfterFunc(d, func() { t.fire(arming) })
	}
	if !t.armed || !r.goesWrong(deadlineIsOld) {
		t.at = at
	}
	t.armed = true
}

func (t *refTimer) Stop() bool {
	r := t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if !t.armed || r.closed {
		return r.goesWrong(stopIsGenerous)
	}
	if t.running && r.goesWrong(stopIsBlind) {
		return false
	}
	if r.goesWrong(stopLies) {
		return true
	}
	t.armed, t.due, t.stale = false, false, t.single || t.stale
	return !r.goesWrong(stopIsCoy)
}

func (t *refTimer) Free() bool {
	r := t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.stale {
		return false
	}
	t.stale = true
	if !r.goesWrong(freeForgets) {
		t.armed, t.due = false, false
	}
	return true
}

func (t *refTimer) Deadline() (time.Time, bool) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	return t.at, t.armed
}

// fire runs the callback if that arming is still the current one. What comes due
// while the callback runs is run by the same goroutine, later.
func (t *refTimer) fire(arming uint64) {
	r := t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if !t.armed || t.arming != arming || r.closed {
		return
	}
	t.due = true
	for t.due && !t.running && !r.closed {
		t.armed, t.due, t.running = r.goesWrong(runsTwice), false, true
		t.due = t.armed
		t.stale = t.single || t.stale
		r.runs++
		r.busy.Add(1)
		r.mu.Unlock()
		t.f()
		r.mu.Lock()
		r.busy.Done()
		t.running = false
	}
}
