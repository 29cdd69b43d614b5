package context_test

import (
	std "context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot/context"
)

// afterFuncCtx is a foreign context with an AfterFunc method. It calls the functions when it
// ends, before end returns.
type afterFuncCtx struct {
	foreignCtx
	fs map[int]func() // under mu
	n  int            // the number of calls of AfterFunc. Under mu
}

func newAfterFuncCtx(parent std.Context) *afterFuncCtx {
	return &afterFuncCtx{foreignCtx: foreignCtx{Context: parent, done: make(chan struct{})}, fs: make(map[int]func())}
}

func (c *afterFuncCtx) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n++
	c.fs[n] = f
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, there := c.fs[n]
		delete(c.fs, n)
		return there
	}
}

func (c *afterFuncCtx) end(err error) {
	c.foreignCtx.end(err)
	c.mu.Lock()
	fs := c.fs
	c.fs = nil
	c.mu.Unlock()
	for _, f := range fs {
		f()
	}
}

func (c *afterFuncCtx) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.fs)
}

func TestContextsEndBeforeAParentThatCallsAfterFuncsReturns(t *testing.T) {
	parent := newAfterFuncCtx(std.Background())
	ctx, cancel := context.WithTimeoutCause(parent, hour, errTooSlow)
	defer cancel()
	child, cancelChild := context.WithCancel(ctx)
	defer cancelChild()
	standard, cancelStandard := std.WithCancel(child)
	defer cancelStandard()
	for _, c := range []std.Context{ctx, child, standard} {
		wantLive(t, "before", c)
	}
	done := ctx.Done()
	parent.end(errGaveUp)
	select {
	case <-done:
	default:
		t.Error("the channel is still open")
	}
	for _, c := range []std.Context{ctx, child, standard} {
		wantEnded(t, "after", c, errGaveUp, errGaveUp)
	}
}

func TestAnEndedContextStopsTheAfterFuncOfItsForeignParent(t *testing.T) {
	parent := newAfterFuncCtx(std.Background())
	for name, make := range map[string]func() (std.Context, std.CancelFunc){
		"cancelled": func() (std.Context, std.CancelFunc) { return context.WithTimeout(parent, hour) },
		"expired":   func() (std.Context, std.CancelFunc) { return context.WithTimeout(parent, millisecond) },
		"passed":    func() (std.Context, std.CancelFunc) { return context.WithTimeout(parent, -millisecond) },
	} {
		ctx, cancel := make()
		if name == "cancelled" {
			if n := parent.waiting(); n != 1 {
				t.Errorf("the parent has %d functions, want 1", n)
			}
			cancel()
		}
		await(t, name, ctx)
		if !holdsWithin(patience, func() bool { return parent.waiting() == 0 }) {
			t.Errorf("%s: the parent still has a function", name)
		}
		cancel()
	}
}

// The test holds the lock that Err of the parent takes.
func TestAQuestionDoesNotCallErrOfAForeignParent(t *testing.T) {
	for name, parent := range map[string]interface {
		std.Context
		sync.Locker
	}{
		"with AfterFunc":    lockedAfterFunc{newAfterFuncCtx(std.Background())},
		"without AfterFunc": lockedForeign{&foreignCtx{Context: std.Background(), done: make(chan struct{})}},
	} {
		ctx, cancel := context.WithTimeout(parent, hour)
		child, cancelChild := context.WithCancel(ctx)
		results := make(chan []string, 1)
		parent.Lock()
		go func() {
			live := []string{look(ctx), look(child)}
			cancelChild()
			results <- append(live, look(child))
		}()
		select {
		case got := <-results:
			live, over := "Cause <nil>, Err <nil>, done false", "Cause context canceled, Err context canceled, done true"
			if want := []string{live, live, over}; !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		case <-time.After(patience):
			t.Errorf("%s: a context below waits for its parent\n%s", name, stacks())
		}
		parent.Unlock()
		cancel()
	}
}

type lockedAfterFunc struct{ *afterFuncCtx }

func (c lockedAfterFunc) Lock()   { c.mu.Lock() }
func (c lockedAfterFunc) Unlock() { c.mu.Unlock() }

type lockedForeign struct{ *foreignCtx }

func (c lockedForeign) Lock()   { c.mu.Lock() }
func (c lockedForeign) Unlock() { c.mu.Unlock() }

func TestAForeignParentThatEndsWithoutAnErrorPanicsWithTheSameText(t *testing.T) {
	panicOf := func(with func(std.Context, time.Duration) (std.Context, std.CancelFunc)) (v any) {
		parent := newAfterFuncCtx(std.Background())
		_, cancel := with(parent, hour)
		defer cancel()
		defer func() { v = recover() }()
		parent.end(nil)
		return nil
	}
	if want, got := panicOf(std.WithTimeout), panicOf(context.WithTimeout); want == nil || got != want {
		t.Errorf("panic %v, want %v", got, want)
	}
}
