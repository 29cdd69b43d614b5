package loop

import (
	"log/slog"
	"reflect"
	"runtime"
	"runtime/debug"
	"time"
)

// work runs what is left of the iteration. A panic that nobody handles leaves it, and so
// does runtime.Goexit; what is left then is found here by the next.
func (l *Loop) finishIteration(s *state) {
	s.inCallback = true
	defer s.leaveCallbacks()
	if s.onPanic == nil {
		l.callRemaining(s)
		return
	}
	for {
		done, lost := l.callRemainingRecovering(s)
		if done {
			return
		}
		if lost != nil {
			s.onPanic(new(runtime.PanicNilError), lost)
		}
	}
}

func (s *state) leaveCallbacks() { s.inCallback = false }

// guarded is attempt with OnPanic. It returns false if there was a panic: then there may be
// more to do. One deferred call serves all callbacks up to a panic.
//
// With GODEBUG=panicnil=1 recover returns nil for panic(nil), as it does for runtime.Goexit.
// After Goexit guarded does not return. After panic(nil) it returns the stack of the panic in
// lost, and the caller calls OnPanic.
func (l *Loop) callRemainingRecovering(s *state) (done bool, lost []byte) {
	defer func() {
		if v := recover(); v != nil {
			s.onPanic(v, debug.Stack())
		} else if !done {
			lost = debug.Stack()
		}
	}()
	l.callRemaining(s)
	return true, nil
}

// attempt runs callbacks until the iteration is finished or the loop closed. Each is taken
// off its list before it is called, so that its handle is stale by then and nothing is run
// twice or lost, wherever the callback takes the goroutine.
func (l *Loop) callRemaining(s *state) {
	if s.afterCallOwed {
		s.afterCallOwed = false
		s.afterCall()
	}
	for q := &s.queue; q.nextChunk < len(q.running); q.nextChunk, q.nextSlot = q.nextChunk+1, 0 {
		for in := q.running[q.nextChunk]; q.nextSlot < in.n; {
			place := q.nextSlot
			f := in.calls[place]
			in.calls[place] = nil
			q.nextSlot = place + 1
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
			s.callWithOptions(f, callID{position: (q.base+uint64(q.nextChunk))<<slotBits | uint64(place)})
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
		s.callWithOptions(f, callID{timer: h})
	}
	s.queue.recycle()
	s.iterating = false
}

// call calls f with all that the options want, and forgets its name.
func (s *state) callWithOptions(f func(), k callID) {
	name := s.names[k]
	s.forgetName(k)
	s.afterCallOwed = s.afterCall != nil
	if s.slowCallback == 0 {
		f()
	} else {
		s.callTimed(f, name)
	}
	if s.afterCallOwed {
		s.afterCallOwed = false
		s.afterCall()
	}
}

func (s *state) callTimed(f func(), name string) {
	begin := time.Now()
	f()
	if took := time.Since(begin); took > s.slowCallback {
		s.logSlow(f, name, took)
	}
}

func (s *state) logSlow(f func(), name string, took time.Duration) {
	attrs := []any{slog.String("callback", funcName(f)), slog.Duration("took", took)}
	if name != "" {
		attrs = append(attrs, slog.String("name", name))
	}
	logger := s.logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.Warn("loop: slow callback", attrs...)
}

// funcName returns the name of a function as stacks show it.
func funcName(f func()) string {
	if fn := runtime.FuncForPC(reflect.ValueOf(f).Pointer()); fn != nil {
		return fn.Name()
	}
	return "unknown"
}
