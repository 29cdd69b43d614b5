package contexts

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A plainWrapper is a struct that embeds a context, as users write them. The other wrappers
// override one method.
type plainWrapper struct{ context.Context }

// An errWrapper always returns the same Err.
type errWrapper struct {
	context.Context
	err error
}

func (w errWrapper) Err() error { return w.err }

// causeThrough returns the cause of a context through an errWrapper, so that Err of the context is
// not called. It returns nil if there is no cause.
func causeThrough(causeOf func(context.Context) error, ctx context.Context) error {
	own := &uniqueError{"own"}
	if cause := causeOf(errWrapper{ctx, own}); cause != error(own) {
		return cause
	}
	return nil
}

// A translatedWrapper returns another Err when the embedded context has one.
type translatedWrapper struct {
	context.Context
	err error
}

func (w translatedWrapper) Err() error {
	if w.Context.Err() == nil {
		return nil
	}
	return w.err
}

// A doneWrapper returns another channel.
type doneWrapper struct {
	context.Context
	done chan struct{} // may be nil
	once sync.Once
}

func (w *doneWrapper) Done() <-chan struct{} { return w.done }

// end closes the channel if Err is not nil. It reports whether it did.
func (w *doneWrapper) end() (closed bool) {
	if w.done != nil && w.Err() != nil {
		w.once.Do(func() {
			close(w.done)
			closed = true
		})
	}
	return closed
}

// A valueWrapper returns the same value for every key.
type valueWrapper struct {
	context.Context
	value any
}

func (w valueWrapper) Value(any) any { return w.value }

// A keyWrapper returns another value for one key.
type keyWrapper struct {
	context.Context
	key, value any
}

func (w keyWrapper) Value(key any) any {
	if key == w.key {
		return w.value
	}
	return w.Context.Value(key)
}

// A deadlineWrapper returns another deadline, or none.
type deadlineWrapper struct {
	context.Context
	at time.Time
	ok bool
}

func (w deadlineWrapper) Deadline() (time.Time, bool) { return w.at, w.ok }

// A mergedWrapper returns the values of another context.
type mergedWrapper struct {
	context.Context
	values context.Context
}

func (w mergedWrapper) Value(key any) any { return w.values.Value(key) }

// An errWatch detects whether a method of a context calls Err of a user's context. Then a caller
// that holds a lock which Err takes would deadlock.
type errWatch struct {
	watched atomic.Pointer[string] // the goroutine in during; nil: none
	called  atomic.Bool
}

// during calls f and reports whether f calls Err of a user's context on the calling goroutine.
// Other goroutines may call it.
func (w *errWatch) during(f func()) bool {
	self := goroutine()
	w.watched.Store(&self)
	f()
	w.watched.Store(nil)
	return w.called.Load()
}

// recordCall is called by each Err of a user's context.
func (w *errWatch) recordCall() {
	if watched := w.watched.Load(); watched != nil && *watched == goroutine() {
		w.called.Store(true)
	}
}

// goroutine returns a name of the calling goroutine.
func goroutine() string {
	buf := make([]byte, 64)
	name, _, _ := strings.Cut(string(buf[:runtime.Stack(buf, false)]), "[")
	return name
}

// A userContext is a context of a user's type. end ends it. Its values and its deadline are those
// of its parent.
type userContext struct {
	context.Context
	done  chan struct{}
	watch *errWatch

	mu  sync.Mutex
	err error
}

func (u *userContext) Done() <-chan struct{} { return u.done }

func (u *userContext) Err() error {
	u.watch.recordCall()
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

// end ends the context unless it has ended. It reports whether it did.
func (u *userContext) end(err error) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.err != nil {
		return false
	}
	u.err = err
	close(u.done)
	return true
}

// An afterFuncContext is a userContext with an AfterFunc method.
type afterFuncContext struct {
	userContext
	calls bool // end calls the functions itself, otherwise it starts goroutines

	funcs map[int]func() // protected by mu
	made  int            // protected by mu
}

func (u *afterFuncContext) AfterFunc(f func()) (stop func() bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.err != nil {
		go f()
		return func() bool { return false }
	}
	id := u.made
	u.made++
	if u.funcs == nil {
		u.funcs = make(map[int]func())
	}
	u.funcs[id] = f
	return func() bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		_, found := u.funcs[id]
		delete(u.funcs, id)
		return found
	}
}

func (u *afterFuncContext) end(err error) bool {
	if !u.userContext.end(err) {
		return false
	}
	u.mu.Lock()
	funcs := u.funcs
	u.funcs = nil
	u.mu.Unlock()
	for _, f := range funcs {
		if u.calls {
			f()
		} else {
			go f()
		}
	}
	return true
}

// registered returns the number of functions that wait for the end.
func (u *afterFuncContext) registered() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.funcs)
}
