package contract_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	dropin "github.com/foliot-go/foliot/context"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	foliottime "github.com/foliot-go/foliot/time"
)

// A programContext is a context of the program with an AfterFunc method, whose stop function is
// the program's own code.
type programContext struct {
	context.Context
	stop func() bool
}

func newProgramContext(stop func() bool) *programContext {
	return &programContext{context.Background(), stop}
}

func (c *programContext) Done() <-chan struct{} { return make(chan struct{}) }

func (c *programContext) AfterFunc(func()) func() bool { return c.stop }

// withTimeouts has the two ways to make a context with a deadline, and a timer beside it.
func withTimeouts(t *testing.T, f func(t *testing.T, withTimeout func(context.Context, time.Duration) (context.Context, context.CancelFunc),
	afterFunc func(time.Duration, func())),
) {
	t.Run("drop-in", func(t *testing.T) {
		f(t, dropin.WithTimeout, func(d time.Duration, fn func()) { foliottime.AfterFunc(d, fn) })
	})
	t.Run("runtime", func(t *testing.T) {
		rt := kit.NewRuntime(t, foliot.Options{Workers: 1})
		f(t, rt.WithTimeout, func(d time.Duration, fn func()) { kit.After(t, rt, d, fn) })
	})
}

func TestAStopFunctionOfAParentThatBlocksDelaysNoTimer(t *testing.T) {
	withTimeouts(t, func(t *testing.T, withTimeout func(context.Context, time.Duration) (context.Context, context.CancelFunc),
		afterFunc func(time.Duration, func()),
	) {
		entered, release := make(chan struct{}), make(chan struct{})
		defer close(release)
		ctx, cancel := withTimeout(newProgramContext(func() bool { close(entered); <-release; return true }), 5*millisecond)
		defer cancel()
		testkit.Receive(t, ctx.Done(), "the deadline")
		testkit.Receive(t, entered, "the call of the stop function")
		fired := make(chan struct{})
		afterFunc(millisecond, func() { close(fired) })
		testkit.Receive(t, fired, "a timer beside the stop function that blocks")
	})
}

func TestAStopFunctionOfAParentThatCallsGoexitLosesNoTimer(t *testing.T) {
	withTimeouts(t, func(t *testing.T, withTimeout func(context.Context, time.Duration) (context.Context, context.CancelFunc),
		afterFunc func(time.Duration, func()),
	) {
		for range 20 {
			const n = 30
			var ran atomic.Int32
			at := time.Now().Add(5 * millisecond)
			for range n {
				afterFunc(time.Until(at), func() { ran.Add(1) })
			}
			_, cancel := withTimeout(newProgramContext(func() bool { runtime.Goexit(); return true }), time.Until(at))
			defer func() { go cancel() }() // the stop function may be called here
			testkit.Eventually(t, "all functions beside the stop function have run", func() bool { return ran.Load() == n })
		}
	})
}

func TestCancelCallsTheStopFunctionOfAParentItself(t *testing.T) {
	withTimeouts(t, func(t *testing.T, withTimeout func(context.Context, time.Duration) (context.Context, context.CancelFunc),
		_ func(time.Duration, func()),
	) {
		var called atomic.Int32
		_, cancel := withTimeout(newProgramContext(func() bool { called.Add(1); return true }), hour)
		cancel()
		if n := called.Load(); n != 1 {
			t.Errorf("the stop function was called %d times when the CancelFunc returned, want 1", n)
		}
		cancel()
		if n := called.Load(); n != 1 {
			t.Errorf("the stop function was called %d times, want 1", n)
		}
	})
}

func TestShutdownDoesNotWaitForAStopFunctionOfAParent(t *testing.T) {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	defer close(release)
	ctx, cancel := rt.WithTimeout(newProgramContext(func() bool { <-release; return true }), hour)
	defer func() { go cancel() }()
	testkit.Returns(t, "Shutdown", func() {
		if n, err := rt.Shutdown(context.Background()); n != 1 || err != nil {
			t.Errorf("Shutdown returns %d, %v, want 1 and no error", n, err)
		}
	})
	wantContext(t, "after Shutdown", ctx, context.Canceled, foliot.ErrClosed)
}
