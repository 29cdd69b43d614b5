package loop

import (
	"fmt"
	"time"

	"github.com/foliot-go/foliot/wheel"
)

// A Handle refers to one scheduled call of a callback. It becomes stale when the call
// starts or is cancelled, and then stays stale. A Handle is a plain value that can be
// copied and compared. The zero Handle refers to nothing. The methods may only be called
// from the loop's goroutine.
type Handle struct {
	loop     *Loop
	when     time.Duration
	timer    wheel.Handle // of a timer; zero for CallSoon
	position uint64       // in the queue, for CallSoon; zero for a timer
}

// Cancel keeps the callback from being called. It returns false if the callback has been
// called, is being called or was cancelled before.
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
	s.forgetName(h.id())
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
// stale. For CallLater that is the deadline, for CallAt the time that was given, and for
// CallSoon the Time at which it was called.
func (h Handle) When() time.Duration { return h.when }

// SetName gives the callback a name, which is used for [Options].SlowCallback and by
// String. It returns false if the handle is stale. A loop in which no callback has a name
// pays nothing for names.
func (h Handle) SetName(name string) bool {
	if !h.Pending() {
		return false
	}
	s := h.state()
	if s.names == nil {
		s.names = make(map[callID]string)
	}
	s.names[h.id()] = name
	s.updatePlainCalls()
	return true
}

// Name returns the name that SetName gave to the callback. It returns "" if there is none
// or the handle is stale.
func (h Handle) Name() string {
	s := h.state()
	if s == nil {
		return ""
	}
	return s.names[h.id()]
}

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
	if name := h.Name(); name != "" {
		kind += fmt.Sprintf(" %q", name)
	}
	return fmt.Sprintf("loop.Handle(%s at %v, %s)", kind, h.when, state)
}

// forgetName drops the name of a callback, and the map if it was the last name.
func (s *state) forgetName(id callID) {
	if s.names == nil {
		return
	}
	delete(s.names, id)
	if len(s.names) == 0 {
		s.names = nil
		s.updatePlainCalls()
	}
}

// state returns the state of the handle's loop. It returns nil for the zero Handle and
// for a closed loop.
func (h Handle) state() *state {
	if h.loop == nil {
		return nil
	}
	return h.loop.state.Load()
}

// A callID identifies a callback within its loop. It is the part of a Handle that is
// known where callbacks are called. One of the fields is zero.
type callID struct {
	timer    wheel.Handle
	position uint64
}

func (h Handle) id() callID { return callID{h.timer, h.position} }
