package contexts

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// plainWrapper is a struct with a context in it, as users write them. The other wrappers
// override one method.
type plainWrapper struct{ context.Context }

// errWrapper always has the same Err.
type errWrapper struct {
	context.Context
	err error
}

func (w errWrapper) Err() error { return w.err }

// causeThrough returns the cause of a context that is asked by way of an errWrapper, which does
// not call its Err. It returns nil if there is none.
func causeThrough(causeOf func(context.Context) error, ctx context.Context) error {
	own := &uniqueError{"own"}
	if cause := causeOf(errWrapper{ctx, own}); cause != error(own) {
		return cause
	}
	return nil
}

// translatedWrapper has an Err of its own once the context in it has one.
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

// doneWrapper has a channel of its own.
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

// valueWrapper answers every key with the same value.
type valueWrapper struct {
	context.Context
	value any
}

func (w valueWrapper) Value(any) any { return w.value }

// keyWrapper has a value of its own for one key.
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

// deadlineWrapper has a deadline of its own, or none.
type deadlineWrapper struct {
	context.Context
	at time.Time
	ok bool
}

func (w deadlineWrapper) Deadline() (time.Time, bool) { return w.at, w.ok }

// mergedWrapper has the values of another context.
type mergedWrapper struct {
	context.Context
	values context.Context
}

func (w mergedWrapper) Value(key any) any { return w.values.Value(key) }

// watch finds out whether a question to a context calls Err of a user's context. If it did, a
// caller that holds a lock which Err takes would block for ever.
type watch struct {
	asker  atomic.Pointer[string] // the goroutine that asks, nil: none
	called atomic.Bool
}

// during reports whether the calling goroutine calls Err of a user's context in f. Other
// goroutines may.
func (w *watch) during(f func()) bool {
	self := goroutine()
	w.asker.Store(&self)
	f()
	w.asker.Store(nil)
	return w.called.Load()
}

// note is called by each Err.
func (w *watch) note() {
	if asker := w.asker.Load(); asker != nil && *asker == goroutine() {
		w.called.Store(true)
	}
}

// goroutine names the calling goroutine.
func goroutine() string {
	buf := make([]byte, 64)
	name, _, _ := strings.Cut(string(buf[:runtime.Stack(buf, false)]), "[")
	return name
}

// userContext is a context of a user's type. It ends by end. Values and deadline are those of
// its parent.
type userContext struct {
	context.Context
	done  chan struct{}
	watch *watch

	mu  sync.Mutex
	err error
}

func (u *userContext) Done() <-chan struct{} { return u.done }

func (u *userContext) Err() error {
	u.watch.note()
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

// afterFuncContext is a userContext with an AfterFunc method.
type afterFuncContext struct {
	userContext
	calls bool // end calls the functions itself, otherwise it starts goroutines

	funcs map[int]func() // under mu
	made  int            // under mu
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

// registered counts the functions that wait for the end.
func (u *afterFuncContext) registered() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.funcs)
}
