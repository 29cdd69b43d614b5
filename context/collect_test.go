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

// cargo is what a context keeps alive.
type cargo [4096]byte

// laden makes a context above which there is cargo that nothing else refers to. It is not inlined, so that nothing on the
// caller's stack refers to either.
//
//go:noinline
func laden(parent std.Context, use func(std.Context) (std.Context, std.CancelFunc)) weak.Pointer[cargo] {
	c := new(cargo)
	use(std.WithValue(parent, testKey("cargo"), c))
	return weak.Make(c)
}

func wantCollected(t *testing.T, what string, w weak.Pointer[cargo]) {
	t.Helper()
	if !holdsWithin(5*time.Second, func() bool { runtime.GC(); return w.Value() == nil }) {
		t.Errorf("%s: still reachable", what)
	}
}

func TestAnEndedContextIsLetGoOfByItsParent(t *testing.T) {
	standard, cancelStandard := std.WithCancel(std.Background())
	defer cancelStandard()
	ours, cancelOurs := context.WithTimeout(std.Background(), 10*hour)
	defer cancelOurs()
	ours.Done()
	for name, parent := range map[string]std.Context{"background": std.Background(), "standard": standard, "ours": ours} {
		for end, d := range map[string]time.Duration{"cancelled": hour, "late": millisecond} {
			for _, waited := range []bool{false, true} {
				w := laden(parent, func(p std.Context) (std.Context, std.CancelFunc) {
					ctx, cancel := context.WithTimeout(p, d)
					below, cancelBelow := context.WithTimeout(ctx, d/2)
					if !waited {
						cancelBelow() // nothing tells a context that nobody waits for, and its timer would last
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
	runtime.KeepAlive(ours)
}

func TestAForgottenContextLastsNoLongerThanItsDeadline(t *testing.T) {
	w := laden(std.Background(), func(p std.Context) (std.Context, std.CancelFunc) {
		ctx, cancel := context.WithTimeout(p, 20*millisecond)
		ctx.Done()
		return ctx, cancel
	})
	wantCollected(t, "after its deadline", w)
}

// Nobody has waited for it, so its parent does not know of it.
func TestAForgottenContextWithoutADeadlineIsCollected(t *testing.T) {
	parent, cancel := context.WithTimeout(std.Background(), hour)
	defer cancel()
	w := laden(parent, context.WithCancel)
	wantCollected(t, "below a parent that goes on", w)
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
