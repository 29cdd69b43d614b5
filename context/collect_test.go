package context_test

import (
	std "context"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/context"
)

// A payload is what a context keeps in memory.
type payload [4096]byte

// usePayload makes a context below one that has a payload as a value. It is not inlined, so that nothing on the stack
// of the caller refers to the context or to the payload.
//
//go:noinline
func usePayload(parent std.Context, use func(std.Context) (std.Context, std.CancelFunc)) weak.Pointer[payload] {
	c := new(payload)
	use(std.WithValue(parent, testKey("payload"), c))
	return weak.Make(c)
}

func wantCollected(t *testing.T, what string, w weak.Pointer[payload]) {
	t.Helper()
	if !holdsWithin(5*time.Second, func() bool { runtime.GC(); return w.Value() == nil }) {
		t.Errorf("%s: still reachable", what)
	}
}

func TestAParentDoesNotReferToAnEndedContext(t *testing.T) {
	standard, cancelStandard := std.WithCancel(std.Background())
	defer cancelStandard()
	own, cancelOwn := context.WithTimeout(std.Background(), 10*hour)
	defer cancelOwn()
	own.Done()
	for name, parent := range map[string]std.Context{"background": std.Background(), "standard": standard, "own": own} {
		for end, d := range map[string]time.Duration{"cancelled": hour, "late": millisecond} {
			for _, waited := range []bool{false, true} {
				w := usePayload(parent, func(p std.Context) (std.Context, std.CancelFunc) {
					ctx, cancel := context.WithTimeout(p, d)
					below, cancelBelow := context.WithTimeout(ctx, d/2)
					if !waited {
						cancelBelow() // a context without a channel is not told of the end, and its timer stays armed
					} else {
						ctx.Done()
						below.Done()
						child, cancelChild := std.WithCancel(ctx)
						defer cancelChild()
						child.Done()
					}
					if d == hour {
						cancel()
					}
					return ctx, cancel
				})
				wantCollected(t, name+", "+end, w)
			}
		}
	}
	runtime.KeepAlive(standard)
	runtime.KeepAlive(own)
}

func TestAForgottenContextLastsNoLongerThanItsDeadline(t *testing.T) {
	w := usePayload(std.Background(), func(p std.Context) (std.Context, std.CancelFunc) {
		ctx, cancel := context.WithTimeout(p, 20*millisecond)
		ctx.Done()
		return ctx, cancel
	})
	wantCollected(t, "after its deadline", w)
}

// Its Done is not called, so it is not in the list of its parent.
func TestAForgottenContextWithoutADeadlineIsCollected(t *testing.T) {
	parent, cancel := context.WithTimeout(std.Background(), hour)
	defer cancel()
	w := usePayload(parent, context.WithCancel)
	wantCollected(t, "below a parent that has not ended", w)
}

func TestAnEndedContextLeavesNoTimerBehind(t *testing.T) {
	armed := func() int { return foliot.Default().Stats().Armed }
	before := armed()
	parent, cancelParent := std.WithCancel(std.Background())
	var all []std.Context
	for i := range 1000 {
		ctx, cancel := context.WithTimeout(parent, hour)
		switch i % 4 {
		case 0:
			cancel()
		case 1:
			ctx.Done()
		case 2:
			ctx.Done()
			cancel()
		}
		all = append(all, ctx)
	}
	cancelParent()
	for _, ctx := range all {
		if ctx.Err() != std.Canceled {
			t.Fatal("not cancelled")
		}
	}
	if n := armed(); n > before {
		t.Errorf("%d timers armed, %d before", n, before)
	}
}
