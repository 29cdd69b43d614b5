package loop

import (
	"fmt"
	"time"

	"github.com/foliot-go/foliot/wheel"
)

// A Handle names one call of a callback, for ever: once that has begun or was cancelled the
// handle is stale, and stays so. It is a plain value, to be copied and compared. The zero
// Handle names none. Its methods belong to the loop's goroutine.
type Handle struct {
	loop     *Loop
	when     time.Duration
	timer    wheel.Handle // of a timer
	position uint64       // the number in the queue, of a CallSoon; one of the two is zero
}

// Cancel keeps the callback from being called, and tells whether it would have been. In the
// callback itself, and after it, the answer is false.
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

// Pending tells whether the callback is yet to be called.
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

// When returns the time for which the callback was scheduled, also after that: the
// deadline of a timer, which for CallAt is the time it was given, and for CallSoon the
// Time at which it was called.
func (h Handle) When() time.Duration { return h.when }

// SetName gives the callback a name, for [Options].SlowCallback and String, and tells
// whether it was still to be called. Names cost nothing where there are none.
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

// Name returns the name given by SetName, as long as the handle is pending.
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

// forget drops the name of a callback, and the map with the last of them.
func (s *state) forgetName(k callID) {
	if s.names == nil {
		return
	}
	delete(s.names, k)
	if len(s.names) == 0 {
		s.names = nil
		s.updatePlainCalls()
	}
}

func (h Handle) state() *state {
	if h.loop == nil {
		return nil
	}
	return h.loop.state.Load()
}

// A key is what names are kept by: what is left of a handle for those who run callbacks.
type callID struct {
	timer    wheel.Handle
	position uint64
}

func (h Handle) id() callID { return callID{h.timer, h.position} }
