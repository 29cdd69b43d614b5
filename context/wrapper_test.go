package context_test

import (
	std "context"
	"fmt"
	"testing"
	"time"

	"github.com/foliot-go/foliot/context"
)

var errMine = &failure{"mine"}

// errWrapper overrides Err.
type errWrapper struct {
	std.Context
	err error
}

func (w errWrapper) Err() error { return w.err }

// translated has another error than the context in it when that has ended.
type translated struct{ std.Context }

func (w translated) Err() error {
	if w.Context.Err() == nil {
		return nil
	}
	return errMine
}

// doneWrapper overrides Done.
type doneWrapper struct {
	std.Context
	done chan struct{}
}

func (w doneWrapper) Done() <-chan struct{} { return w.done }

// noValues has no values.
type noValues struct{ std.Context }

func (w noValues) Value(any) any { return nil }

// contextValue returns the context in it for each key.
type contextValue struct{ std.Context }

func (w contextValue) Value(any) any { return w.Context }

// deadlineWrapper overrides Deadline.
type deadlineWrapper struct {
	std.Context
	at time.Time
}

func (w deadlineWrapper) Deadline() (time.Time, bool) { return w.at, true }

// otherValues has the values of another context.
type otherValues struct {
	std.Context
	values std.Context
}

func (w otherValues) Value(key any) any { return w.values.Value(key) }

// closedChannel returns a channel that is closed.
func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// A making makes a context and a function that ends it, or waits for its end.
type making func(standard bool) (ctx std.Context, end func())

// cancelling has contexts that the test cancels.
var cancelling = map[string]making{
	"cancelled": func(standard bool) (std.Context, func()) {
		if standard {
			return end(std.WithTimeout(std.Background(), hour))
		}
		return end(context.WithTimeout(std.Background(), hour))
	},
	"cancelled with a cause": func(standard bool) (std.Context, func()) {
		with := context.WithTimeout
		if standard {
			with = std.WithTimeout
		}
		top, cancelTop := with(std.Background(), hour)
		ctx, cancel := context.WithCancelCause(top)
		return ctx, func() {
			cancel(errGaveUp)
			cancelTop()
		}
	},
	"its parent cancelled": func(standard bool) (std.Context, func()) {
		with := context.WithTimeout
		if standard {
			with = std.WithTimeout
		}
		top, cancelTop := std.WithCancelCause(std.Background())
		ctx, cancel := with(top, hour)
		return ctx, func() {
			cancelTop(errGaveUp)
			cancel()
		}
	},
}

// expiring has contexts that end at a deadline.
var expiring = map[string]making{
	"expired": func(standard bool) (std.Context, func()) {
		if standard {
			return expire(std.WithTimeout(std.Background(), millisecond))
		}
		return expire(context.WithTimeout(std.Background(), millisecond))
	},
	"expired with a cause": func(standard bool) (std.Context, func()) {
		if standard {
			return expire(std.WithTimeoutCause(std.Background(), millisecond, errTooSlow))
		}
		return expire(context.WithTimeoutCause(std.Background(), millisecond, errTooSlow))
	},
	"expired from the start": func(standard bool) (std.Context, func()) {
		if standard {
			return end(std.WithTimeout(std.Background(), 0))
		}
		return end(context.WithTimeout(std.Background(), 0))
	},
}

func end(ctx std.Context, cancel std.CancelFunc) (std.Context, func()) { return ctx, cancel }

// expire waits for the deadline of a context without a call of Done.
func expire(ctx std.Context, cancel std.CancelFunc) (std.Context, func()) {
	return ctx, func() {
		for ctx.Err() == nil {
			time.Sleep(millisecond / 4)
		}
		cancel()
	}
}

// overriding has wrappers that override methods.
var overriding = map[string]func(std.Context) std.Context{
	"nothing":                func(ctx std.Context) std.Context { return wrapper{ctx} },
	"Err":                    func(ctx std.Context) std.Context { return errWrapper{ctx, errMine} },
	"Err, nil":               func(ctx std.Context) std.Context { return errWrapper{ctx, nil} },
	"Err, translated":        func(ctx std.Context) std.Context { return translated{ctx} },
	"Err and Value":          func(ctx std.Context) std.Context { return noValues{errWrapper{ctx, errMine}} },
	"Done, nil":              func(ctx std.Context) std.Context { return doneWrapper{ctx, nil} },
	"Done, closed":           func(ctx std.Context) std.Context { return doneWrapper{ctx, closedChannel()} },
	"Done, open":             func(ctx std.Context) std.Context { return doneWrapper{ctx, make(chan struct{})} },
	"Err and Done":           func(ctx std.Context) std.Context { return errWrapper{doneWrapper{ctx, make(chan struct{})}, errMine} },
	"Value":                  func(ctx std.Context) std.Context { return noValues{ctx} },
	"Value, a context":       func(ctx std.Context) std.Context { return contextValue{translated{ctx}} },
	"Deadline, passed":       func(ctx std.Context) std.Context { return deadlineWrapper{ctx, time.Unix(0, 0)} },
	"Deadline, never":        func(ctx std.Context) std.Context { return deadlineWrapper{ctx, time.Now().Add(1000 * hour)} },
	"Value, of a live one":   func(ctx std.Context) std.Context { return otherValues{ctx, liveCtx} },
	"Value, of an ended one": func(ctx std.Context) std.Context { return otherValues{ctx, endedCtx} },
	"all but Value":          func(ctx std.Context) std.Context { return otherValues{endedCtx, ctx} },
}

var (
	liveCtx, _ = std.WithCancel(std.Background())
	endedCtx   = func() std.Context {
		ctx, cancel := std.WithCancelCause(std.Background())
		cancel(errGaveUp)
		return ctx
	}()
)

// look formats what can be observed of a context.
func look(ctx std.Context) string {
	return fmt.Sprintf("Cause %v, Err %v, done %t", std.Cause(ctx), ctx.Err(), isDone(ctx))
}

// caught returns what f returns, or the text of its panic.
func caught(f func() string) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint("panic: ", v)
		}
	}()
	return f()
}

// eachWrapper makes each wrapper of a context, once of a standard one and once of one of this package. It reports an error
// where seen returns something else for the second.
func eachWrapper(t *testing.T, makes map[string]making, seen func(standard bool, w, ctx std.Context, end func()) string) {
	t.Helper()
	for ending, make := range makes {
		for name, wrap := range overriding {
			for _, waited := range []bool{false, true} {
				observe := func(standard bool) string {
					ctx, end := make(standard)
					defer end()
					if waited {
						ctx.Done()
					}
					return caught(func() string { return seen(standard, wrap(ctx), ctx, end) })
				}
				if want, got := observe(true), observe(false); got != want {
					t.Errorf("%s, Done called %t, wrapper with %s: %s, want %s", ending, waited, name, got, want)
				}
			}
		}
	}
}

func TestAWrapperHasTheCauseOfAWrapperOfAStandardContext(t *testing.T) {
	seen := func(_ bool, w, ctx std.Context, end func()) string {
		end()
		return look(w) + ", and of the context in it " + look(ctx)
	}
	eachWrapper(t, cancelling, seen)
	eachWrapper(t, expiring, seen)
}

// A derivation makes a context below another.
type derivation func(standard bool, parent std.Context) (std.Context, std.CancelFunc)

var derivations = map[string]derivation{
	"WithCancel": func(standard bool, parent std.Context) (std.Context, std.CancelFunc) {
		if standard {
			return std.WithCancel(parent)
		}
		return context.WithCancel(parent)
	},
	"WithCancelCause": func(standard bool, parent std.Context) (std.Context, std.CancelFunc) {
		with := context.WithCancelCause
		if standard {
			with = std.WithCancelCause
		}
		ctx, cancel := with(parent)
		return ctx, func() { cancel(errGaveUp) }
	},
	"WithTimeoutCause": func(standard bool, parent std.Context) (std.Context, std.CancelFunc) {
		if standard {
			return std.WithTimeoutCause(parent, hour/2, errTooSlow)
		}
		return context.WithTimeoutCause(parent, hour/2, errTooSlow)
	},
	"WithTimeoutCause, passed": func(standard bool, parent std.Context) (std.Context, std.CancelFunc) {
		if standard {
			return std.WithTimeoutCause(parent, -hour, errTooSlow)
		}
		return context.WithTimeoutCause(parent, -hour, errTooSlow)
	},
	"WithoutCancel": func(_ bool, parent std.Context) (std.Context, std.CancelFunc) {
		return context.WithoutCancel(parent), func() {}
	},
	"a standard WithCancel": func(_ bool, parent std.Context) (std.Context, std.CancelFunc) {
		return std.WithCancel(parent)
	},
}

func TestAContextBelowAWrapperOfAnEndedOneEqualsAStandardOne(t *testing.T) {
	for name, derive := range derivations {
		t.Run(name, func(t *testing.T) {
			seen := func(standard bool, w, _ std.Context, end func()) string {
				end()
				child, cancel := derive(standard, w)
				before := look(child)
				cancel()
				return before + ", after cancel " + look(child)
			}
			eachWrapper(t, cancelling, seen)
			eachWrapper(t, expiring, seen)
		})
	}
}

func TestAContextBelowAWrapperEndsLikeAStandardOne(t *testing.T) {
	for name, derive := range derivations {
		t.Run(name, func(t *testing.T) {
			eachWrapper(t, cancelling, func(standard bool, w, _ std.Context, end func()) string {
				child, cancel := derive(standard, w)
				defer cancel()
				before := look(child)
				end()
				if isDone(w) && child.Done() != nil {
					await(t, name, child)
				}
				return before + ", then " + look(child)
			})
		})
	}
}
