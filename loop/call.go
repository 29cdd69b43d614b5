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
func (l *Loop) work(c *core) {
	c.inside = true
	defer c.outside()
	if c.onPanic == nil {
		l.attempt(c)
		return
	}
	for {
		done, lost := l.guarded(c)
		if done {
			return
		}
		if lost != nil {
			c.onPanic(new(runtime.PanicNilError), lost)
		}
	}
}

func (c *core) outside() { c.inside = false }

// guarded is attempt with OnPanic. It returns false if there was a panic: then there may be
// more to do. One deferred call serves all callbacks up to a panic.
//
// With GODEBUG=panicnil=1 recover returns nil for panic(nil), as it does for runtime.Goexit.
// After Goexit guarded does not return. After panic(nil) it returns the stack of the panic in
// lost, and the caller calls OnPanic.
func (l *Loop) guarded(c *core) (done bool, lost []byte) {
	defer func() {
		if v := recover(); v != nil {
			c.onPanic(v, debug.Stack())
		} else if !done {
			lost = debug.Stack()
		}
	}()
	l.attempt(c)
	return true, nil
}

// attempt runs callbacks until the iteration is finished or the loop closed. Each is taken
// off its list before it is called, so that its handle is stale by then and nothing is run
// twice or lost, wherever the callback takes the goroutine.
func (l *Loop) attempt(c *core) {
	if c.owed {
		c.owed = false
		c.afterCall()
	}
	for q := &c.queue; q.chunk < len(q.running); q.chunk, q.place = q.chunk+1, 0 {
		for in := q.running[q.chunk]; q.place < in.n; {
			place := q.place
			f := in.calls[place]
			in.calls[place] = nil
			q.place = place + 1
			if f == nil {
				continue
			}
			if l.signals.load()&sigClosed != 0 {
				return
			}
			if c.plain {
				f()
				continue
			}
			c.call(f, key{soon: (q.base+uint64(q.chunk))<<placeBits | uint64(place)})
		}
	}
	for a := &c.agenda; a.next < len(a.due); {
		h := a.due[a.next]
		a.next++
		if l.signals.load()&sigClosed != 0 {
			return
		}
		f, ok := c.timers.Cancel(h)
		if !ok {
			continue
		}
		if c.plain {
			f()
			continue
		}
		c.call(f, key{timer: h})
	}
	c.queue.retire()
	c.open = false
}

// call calls f with all that the options want, and forgets its name.
func (c *core) call(f func(), k key) {
	name := c.names[k]
	c.forget(k)
	c.owed = c.afterCall != nil
	if c.slow == 0 {
		f()
	} else {
		c.timed(f, name)
	}
	if c.owed {
		c.owed = false
		c.afterCall()
	}
}

func (c *core) timed(f func(), name string) {
	begin := time.Now()
	f()
	if took := time.Since(begin); took > c.slow {
		c.logSlow(f, name, took)
	}
}

func (c *core) logSlow(f func(), name string, took time.Duration) {
	attrs := []any{slog.String("callback", funcName(f)), slog.Duration("took", took)}
	if name != "" {
		attrs = append(attrs, slog.String("name", name))
	}
	logger := c.logger
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
