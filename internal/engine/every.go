package engine

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/foliot-go/foliot/wheel"
)

// A repeat is what a timer of Every has beside its entry in the wheel: a reusable timer that arms
// itself. It has no states of its own. The goroutine that starts the callback also arms the timer
// for the next tick, with the same lock held:
//
//	event                      what follows at once   the states
//	expire, the timer is due   arm                    armed → running → runningArmed
//	done, a tick has passed    arm                    runningDue → running → runningArmed
//
// So the next tick is armed whenever the callback runs, and Stop finds it. If the tick comes before
// the callback has returned, the timer waits in the state runningDue and takes no part in later
// ticks: these are skipped.
//
// Stop of a timer in one of these states returns false, unlike that of other timers. The program
// has not armed the next tick, and takes true to mean that the callback will not run. But the
// callback may be about to start: the engine cannot know whether it has.
//
// A repeat belongs to the holder of its shard's lock.
type repeat struct {
	f      func() // the callback. Does not change
	due    int64  // the deadline of the last arming
	period int64
}

// Every makes a timer that runs f, a callback of the user, after each period. The ticks are on a
// grid that begins now. The timer stays until it is freed.
func (eng *Engine) Every(period time.Duration, f func()) (Timer, error) {
	if f == nil {
		return Timer{}, ErrNilFunc
	}
	if period <= 0 {
		return Timer{}, fmt.Errorf("foliot: Every with a period of %v; it must be positive", period)
	}
	due, err := eng.after(period)
	if err != nil {
		return Timer{}, err
	}
	r := &repeat{f, due, int64(period)}
	return eng.arm(due, unsafe.Pointer(r), stateArmed, kindEvery)
}

// begin sets the deadline, from which a new grid begins. The period becomes d, or stays if d is 0
// or less.
func (r *repeat) begin(due int64, d time.Duration) {
	r.due = due
	if d > 0 {
		r.period = int64(d)
	}
}

// stoppedInTime returns the result of Stop for a timer that was armed. That is false if the callback
// of a timer of Every runs. The caller has changed the state of the timer, and holds the lock.
func (s *Shard) stoppedInTime(b *entry) bool {
	if b.kind != kindEvery || b.state != stateRunning {
		return true
	}
	s.stopped--
	return false
}

// armNext arms a timer of Every, whose callback is started at the time now, for the first tick
// after now. The caller holds the lock, and calls timekeeper.notify afterwards if early is true.
func (s *Shard) armNext(h wheel.Handle, b *entry, now int64) (early bool) {
	r := (*repeat)(b.ptr)
	r.due = s.eng.nextOnGrid(r.due, r.period, now)
	_, early = s.move(h, b, wheel.Never, s.eng.Ceil(r.due))
	return early
}
