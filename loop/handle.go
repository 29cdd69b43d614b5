package loop

import (
	"fmt"
	"time"

	"github.com/foliot-go/foliot/internal/wheel"
)

// A Handle refers to one scheduled call of a callback. It becomes stale when the call starts or is
// canceled, and stays stale. A Handle is a plain value that can be copied and compared. The zero
// Handle refers to nothing. The methods may only be called from the loop's goroutine.
type Handle struct {
	loop     *Loop
	when     time.Duration
	timer    wheel.Handle // of a timer; zero for CallSoon
	position uint64       // in the queue, for CallSoon; zero for a timer
}

// Cancel prevents the callback from being called. It returns false if the callback was called, is
// running or was already canceled.
func (h Handle) Cancel() bool {
	s := h.state()
	if s == nil {
		return false
	}
	if h.position != 0 {
		if !s.queue.cancel(h.position) {
			return false
		}
	} else {
		if _, ok := s.timers.Cancel(h.timer); !ok {
			return false
		}
		if h.when <= s.due.earliest {
			s.due.earliestKnown = false
		}
	}
	return true
}

// Pending reports whether the callback is still to be called.
func (h Handle) Pending() bool {
	s := h.state()
	if s == nil {
		return false
	}
	if h.position != 0 {
		return s.queue.find(h.position) != nil
	}
	return s.timers.Value(h.timer) != nil
}

// When returns the time for which the callback was scheduled, even if the handle is
// stale: the deadline for CallLater, the given time for CallAt, and the Time of the call
// for CallSoon.
func (h Handle) When() time.Duration { return h.when }

// String describes the handle for debugging.
func (h Handle) String() string {
	if h.loop == nil {
		return "loop.Handle(none)"
	}
	kind, state := "timer", "stale"
	if h.position != 0 {
		kind = "soon"
	}
	if h.Pending() {
		state = "pending"
	}
	return fmt.Sprintf("loop.Handle(%s at %v, %s)", kind, h.when, state)
}

// state returns the state of the handle's loop, or nil for the zero Handle and for a closed loop.
func (h Handle) state() *state {
	if h.loop == nil {
		return nil
	}
	return h.loop.state.Load()
}
