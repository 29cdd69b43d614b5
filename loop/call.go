package loop

import (
	"log/slog"
	"reflect"
	"runtime"
	"runtime/debug"
	"time"
)

// finishIteration calls the iteration's remaining callbacks. A panic leaves this function if OnPanic
// is nil, and runtime.Goexit always does; the next call then finds the callbacks that are left.
func (l *Loop) finishIteration(s *state) {
	s.inCallback = true
	defer s.leaveCallbacks()
	if s.onPanic == nil {
		l.callRemaining(s)
		return
	}
	for {
		done, nilPanicStack := l.callRemainingRecovering(s)
		if done {
			return
		}
		if nilPanicStack != nil {
			s.onPanic(new(runtime.PanicNilError), nilPanicStack)
		}
	}
}

func (s *state) leaveCallbacks() { s.inCallback = false }

// callRemainingRecovering is callRemaining with OnPanic. It returns false after a panic, when
// callbacks may be left. A single deferred call serves all callbacks up to a panic.
//
// With GODEBUG=panicnil=1, recover returns nil for panic(nil), as it does for runtime.Goexit. But
// after Goexit this function does not return, whereas after panic(nil) it returns the panic's
// stack, and the caller calls OnPanic.
func (l *Loop) callRemainingRecovering(s *state) (done bool, nilPanicStack []byte) {
	defer func() {
		if v := recover(); v != nil {
			s.onPanic(v, debug.Stack())
		} else if !done {
			nilPanicStack = debug.Stack()
		}
	}()
	l.callRemaining(s)
	return true, nil
}

// callRemaining calls callbacks until the iteration is finished or the loop is closed. Each
// callback is removed from its list before it is called, so that its handle is already stale, and
// no callback is called twice or lost if this one panics or calls Goexit.
func (l *Loop) callRemaining(s *state) {
	if s.afterCallOwed {
		s.afterCallOwed = false
		s.afterCall()
	}
	for q := &s.queue; q.nextChunk < len(q.running); q.nextChunk, q.nextSlot = q.nextChunk+1, 0 {
		for c := q.running[q.nextChunk]; q.nextSlot < c.n; {
			slot := q.nextSlot
			f := c.calls[slot]
			c.calls[slot] = nil
			q.nextSlot = slot + 1
			if f == nil {
				continue
			}
			if l.signals.load()&sigClosed != 0 {
				return
			}
			if s.plainCalls {
				f()
				continue
			}
			s.callWithOptions(f)
		}
	}
	for d := &s.due; d.next < len(d.handles); {
		h := d.handles[d.next]
		d.next++
		if l.signals.load()&sigClosed != 0 {
			return
		}
		f, ok := s.timers.Cancel(h)
		if !ok {
			continue
		}
		if s.plainCalls {
			f()
			continue
		}
		s.callWithOptions(f)
	}
	s.queue.recycle()
	s.iterating = false
}

// callWithOptions calls f, logs it if it was slow, and calls AfterCall.
func (s *state) callWithOptions(f func()) {
	s.afterCallOwed = s.afterCall != nil
	if s.slowCallback == 0 {
		f()
	} else {
		s.callTimed(f)
	}
	if s.afterCallOwed {
		s.afterCallOwed = false
		s.afterCall()
	}
}

func (s *state) callTimed(f func()) {
	begin := time.Now()
	f()
	if took := time.Since(begin); took > s.slowCallback {
		s.logSlow(f, took)
	}
}

func (s *state) logSlow(f func(), took time.Duration) {
	logger := s.logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.Warn("loop: slow callback", slog.String("callback", funcName(f)), slog.Duration("took", took))
}

// funcName returns the name of a function as it appears in stack traces.
func funcName(f func()) string {
	if fn := runtime.FuncForPC(reflect.ValueOf(f).Pointer()); fn != nil {
		return fn.Name()
	}
	return "unknown"
}
