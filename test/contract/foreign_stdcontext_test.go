package contract_test

import (
	std "context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/context"
	"github.com/foliot-go/foliot/internal/testkit"
)

// These cases use the drop-in context in ways that the standard package allows. With the standard
// package it is a fatal error to close the channel of Done, or to receive from it, outside of the
// bubble in which it was made. The first call of Done or the first derived context makes the
// channel.

var errForeignCause = errors.New("a cause")

// constructors make a context that ends after d if it has a deadline, and otherwise when it is
// cancelled.
var constructors = []struct {
	name     string
	deadline bool
	make     func(parent std.Context, d time.Duration) (std.Context, std.CancelFunc)
}{
	{"WithCancel", false, func(parent std.Context, _ time.Duration) (std.Context, std.CancelFunc) {
		return context.WithCancel(parent)
	}},
	{"WithCancelCause", false, func(parent std.Context, _ time.Duration) (std.Context, std.CancelFunc) {
		ctx, cancel := context.WithCancelCause(parent)
		return ctx, func() { cancel(errForeignCause) }
	}},
	{"WithDeadline", true, func(parent std.Context, d time.Duration) (std.Context, std.CancelFunc) {
		return context.WithDeadline(parent, time.Now().Add(d))
	}},
	{"WithDeadlineCause", true, func(parent std.Context, d time.Duration) (std.Context, std.CancelFunc) {
		return context.WithDeadlineCause(parent, time.Now().Add(d), errForeignCause)
	}},
	{"WithTimeout", true, context.WithTimeout},
	{"WithTimeoutCause", true, func(parent std.Context, d time.Duration) (std.Context, std.CancelFunc) {
		return context.WithTimeoutCause(parent, d, errForeignCause)
	}},
}

func dropInContextCases() (cases []foreignCase) {
	for _, make := range constructors {
		for _, c := range []struct {
			name string
			run  func(t *testing.T, parent std.Context, make makeContext)
		}{
			{"", madeInABubble},
			{", below a context from outside", childInABubble},
			{", whose bubble has ended", bubbleEnded},
			{", cancelled in a bubble", cancelledInABubble},
			{", read in a bubble and cancelled outside", readInABubble},
			{", waited for in a bubble", waitedForInABubble},
			{", read outside", readOutside},
			{", below a context of a bubble", childOutside},
		} {
			cases = append(cases, foreignCase{make.name + c.name, []string{"context." + make.name}, func(t *testing.T) {
				before := foliot.Default().Stats().Armed
				// With another parent, WithCancel would return a context of the standard package.
				parent, cancel := context.WithTimeout(std.Background(), 2*hour)
				parent.Done() // makes the channel outside of all bubbles
				c.run(t, parent, make.make)
				cancel()
				wantContextsWork(t)
				testkit.Eventually(t, "nothing is armed", func() bool {
					return foliot.Default().Stats().Armed == before
				})
			}})
		}
	}
	return cases
}

type makeContext = func(std.Context, time.Duration) (std.Context, std.CancelFunc)

// madeInABubble uses a context where it was made.
func madeInABubble(t *testing.T, _ std.Context, make makeContext) {
	before := foliot.Default().Stats().Armed
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := make(std.Background(), hour)
		defer cancel()
		began := time.Now()
		if _, ok := ctx.Deadline(); ok {
			<-ctx.Done()
			if took := time.Since(began); took != hour || !errors.Is(ctx.Err(), std.DeadlineExceeded) {
				t.Errorf("the context ends with %v after %v, want DeadlineExceeded after 1h",
					ctx.Err(), took)
			}
		}
		cancel()
		if ctx.Err() == nil {
			t.Error("Err of a cancelled context returns nil")
		}
	})
	if n := foliot.Default().Stats().Armed; n != before {
		t.Errorf("Armed of the default runtime is %d, want %d as before", n, before)
	}
}

// childInABubble derives a context in a bubble from one that was made outside.
func childInABubble(t *testing.T, parent std.Context, make makeContext) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := make(parent, hour)
		select {
		case <-ctx.Done():
			t.Error("the context has ended before cancel was called")
		default:
		}
		cancel()
		<-ctx.Done()
		if !errors.Is(ctx.Err(), std.Canceled) || std.Cause(ctx) == nil {
			t.Errorf("Err and Cause of a cancelled context return %v and %v",
				ctx.Err(), std.Cause(ctx))
		}
	})
	if err := parent.Err(); err != nil {
		t.Errorf("the context outside has ended with %v", err)
	}
}

// bubbleEnded cancels a context outside that has a child of a bubble that has ended. A child with a
// deadline is cancelled before: the standard package would stop a timer of the bubble, which is a
// fatal error.
func bubbleEnded(t *testing.T, _ std.Context, make makeContext) {
	top, cancelTop := context.WithCancel(std.Background())
	top.Done() // makes the channel outside of all bubbles
	var ctx std.Context
	synctest.Test(t, func(t *testing.T) {
		var cancel std.CancelFunc
		ctx, cancel = make(top, hour)
		if _, ok := ctx.Deadline(); ok {
			cancel()
		}
	})
	cancelTop()
	if !errors.Is(ctx.Err(), std.Canceled) {
		t.Errorf("Err returns %v, want Canceled", ctx.Err())
	}
}

// cancelledInABubble cancels a context that was made outside in a bubble.
func cancelledInABubble(t *testing.T, parent std.Context, make makeContext) {
	ctx, cancel := make(parent, hour)
	child, cancelChild := context.WithTimeout(ctx, hour)
	defer cancelChild()
	done, childDone := ctx.Done(), child.Done()
	synctest.Test(t, func(t *testing.T) {
		cancel()
		if !errors.Is(ctx.Err(), std.Canceled) {
			t.Errorf("Err returns %v in the bubble, want Canceled", ctx.Err())
		}
	})
	testkit.Receive(t, done, "Done outside")
	testkit.Receive(t, childDone, "Done of the child, outside")
	if !errors.Is(child.Err(), std.Canceled) {
		t.Errorf("Err returns %v outside, want Canceled", child.Err())
	}
}

// readInABubble calls all methods except Done in a bubble, and cancels outside.
func readInABubble(t *testing.T, parent std.Context, make makeContext) {
	ctx, cancel := make(parent, hour)
	synctest.Test(t, func(t *testing.T) { wantAlive(t, ctx) })
	cancel()
	testkit.Receive(t, ctx.Done(), "Done outside")
	if !errors.Is(ctx.Err(), std.Canceled) {
		t.Errorf("Err returns %v outside, want Canceled", ctx.Err())
	}
}

// waitedForInABubble waits in a bubble for a context that was made outside.
func waitedForInABubble(t *testing.T, parent std.Context, make makeContext) {
	began := time.Now()
	ctx, cancel := make(parent, brief)
	done := ctx.Done()
	time.AfterFunc(2*brief, cancel)
	synctest.Test(t, func(t *testing.T) {
		<-done
		if ctx.Err() == nil || std.Cause(ctx) == nil {
			t.Errorf("Err and Cause return %v and %v", ctx.Err(), std.Cause(ctx))
		}
	})
	if took := time.Since(began); took < brief {
		t.Errorf("the context has ended after %v, want at least %v", took, brief)
	}
}

// readOutside calls all methods except Done outside, of a context that was made in a bubble.
func readOutside(t *testing.T, _ std.Context, make makeContext) {
	p := &twoPlaces{setting: setting{made: true}, t: t}
	p.open()
	defer p.close()
	var ctx std.Context
	var cancel std.CancelFunc
	p.own(func(*testing.T) { ctx, cancel = make(std.Background(), hour) })
	p.foreign(func(t *testing.T) { wantAlive(t, ctx) })
	p.own(func(t *testing.T) {
		cancel()
		<-ctx.Done()
	})
	p.foreign(func(t *testing.T) {
		if !errors.Is(ctx.Err(), std.Canceled) || std.Cause(ctx) == nil {
			t.Errorf("Err and Cause return %v and %v", ctx.Err(), std.Cause(ctx))
		}
	})
}

// childOutside derives a context outside from one that was made in a bubble, and cancels the
// latter in the bubble.
func childOutside(t *testing.T, _ std.Context, make makeContext) {
	p := &twoPlaces{setting: setting{made: true}, t: t}
	p.open()
	defer p.close()
	var ctx, child std.Context
	var cancel, cancelChild std.CancelFunc
	p.own(func(*testing.T) { ctx, cancel = context.WithCancel(std.Background()) })
	p.foreign(func(t *testing.T) {
		child, cancelChild = make(ctx, hour)
		child.Done()
		wantAlive(t, child)
	})
	p.own(func(*testing.T) { cancel() })
	p.foreign(func(t *testing.T) {
		testkit.Receive(t, child.Done(), "Done outside")
		if !errors.Is(child.Err(), std.Canceled) {
			t.Errorf("Err returns %v, want Canceled", child.Err())
		}
		cancelChild()
	})
}

// wantAlive calls all methods except Done of a context that has not ended.
func wantAlive(t *testing.T, ctx std.Context) {
	t.Helper()
	if ctx.Err() != nil || std.Cause(ctx) != nil {
		t.Errorf("Err and Cause return %v and %v, want nil", ctx.Err(), std.Cause(ctx))
	}
	ctx.Deadline()
	if v := ctx.Value("a key"); v != nil {
		t.Errorf("Value returns %v, want nil", v)
	}
}

// wantContextsWork checks that contexts work outside.
func wantContextsWork(t *testing.T) {
	t.Helper()
	for _, c := range constructors {
		began := time.Now()
		top, cancelTop := context.WithTimeout(std.Background(), hour)
		ctx, cancel := c.make(top, brief)
		child, cancelChild := context.WithCancel(ctx)
		if !c.deadline {
			cancel()
		}
		testkit.Receive(t, child.Done(), c.name)
		took := time.Since(began)
		if c.deadline && (took < brief || !errors.Is(child.Err(), std.DeadlineExceeded)) {
			t.Errorf("%s ends with %v after %v, want %v", c.name, child.Err(), took, brief)
		}
		cancel()
		cancelChild()
		cancelTop()
	}
}
