package contexts

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/foliot-go/foliot/internal/testkit"
)

// A payload is an object that a context keeps alive.
type payload [64]byte

// longLived has contexts that live longer than their descendants.
var longLived = map[string]func() (context.Context, context.CancelFunc){
	"Background": func() (context.Context, context.CancelFunc) { return context.Background(), func() {} },
	"standard":   func() (context.Context, context.CancelFunc) { return context.WithCancel(context.Background()) },
	"Foliot's": func() (context.Context, context.CancelFunc) {
		return foliotMaker.withTimeout(context.Background(), 10*time.Hour)
	},
	"Foliot's below a standard one": func() (context.Context, context.CancelFunc) {
		above, cancel := context.WithCancel(context.Background())
		ctx, _ := foliotMaker.withTimeout(above, 10*time.Hour)
		return ctx, cancel
	},
	"user's with AfterFunc": func() (context.Context, context.CancelFunc) {
		u := &afterFuncContext{}
		u.init()
		return u, func() { u.end(context.Canceled) }
	},
	"user's": func() (context.Context, context.CancelFunc) {
		u := &userContext{}
		u.init()
		return u, func() { u.end(context.Canceled) }
	},
}

// init makes u a context without values and deadline.
func (u *userContext) init() {
	u.Context, u.done, u.watch = context.Background(), make(chan struct{}), new(errWatch)
}

// useBriefly makes two contexts below parent and ends them while another goroutine uses them. It
// returns a pointer to an object that they keep alive.
//
//go:noinline
func useBriefly(parent context.Context, ms makers, rng *rand.Rand) weak.Pointer[payload] {
	p := new(payload)
	pick := func() *maker { return ms[rng.IntN(2)] }
	parent = context.WithValue(parent, ctxKey(0), p)
	var ctx context.Context
	var cancel context.CancelFunc
	switch rng.IntN(3) {
	case 0:
		ctx, cancel = pick().withCancel(parent)
	case 1:
		ctx, cancel = pick().withTimeout(parent, time.Hour)
	case 2:
		ctx, cancel = pick().withTimeout(parent, time.Duration(rng.IntN(50))*time.Microsecond)
	}
	below, cancelBelow := pick().withCancel(ctx)
	afterFunc, how := pick().afterFunc, rng.IntN(5)
	var start barrier
	start.missing.Store(2)
	var both sync.WaitGroup
	both.Go(func() {
		start.wait()
		switch how {
		case 0:
			ctx.Done()
		case 1:
			below.Done()
		case 2:
			afterFunc(below, func() {})
		case 3:
			afterFunc(ctx, func() {})()
		}
	})
	start.wait()
	cancelBelow()
	cancel()
	both.Wait()
	return weak.Make(p)
}

func TestContextsThatHaveEndedAreCollectable(t *testing.T) {
	for name, make := range longLived {
		for kind, ms := range map[string]makers{"Foliot": allFoliot, "mixed": mixed} {
			t.Run(fmt.Sprintf("%s, %s", name, kind), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(*seedFlag, 0))
				parent, cancel := make()
				defer cancel()
				var used []weak.Pointer[payload]
				for limit := time.Now().Add(share(24)); len(used) < 200 || time.Now().Before(limit); {
					used = append(used, useBriefly(parent, ms, rng))
				}
				if left := testkit.Uncollected(*patience, used); left != 0 {
					t.Errorf("%d of %d contexts that have ended are reachable, want none",
						left, len(used))
				}
				runtime.KeepAlive(parent)
			})
		}
	}
}

// Nobody ends these contexts. One with a deadline is referred to until then if somebody waits for
// it. One without is never in the list of its parent, because its Done is not called.
func TestContextsThatAreForgottenAreCollectable(t *testing.T) {
	for name, forget := range map[string]func(m *maker, parent context.Context){
		"with a deadline": func(m *maker, parent context.Context) {
			ctx, _ := m.withTimeout(parent, 20*time.Millisecond)
			ctx.Done()
		},
		"without a deadline": func(m *maker, parent context.Context) { m.withCancel(parent) },
	} {
		t.Run(name, func(t *testing.T) {
			parent, cancel := foliotMaker.withTimeout(context.Background(), 10*time.Hour)
			defer cancel()
			var forgotten []weak.Pointer[payload]
			for range 10 {
				p := new(payload)
				forget(&foliotMaker, context.WithValue(parent, ctxKey(0), p))
				forgotten = append(forgotten, weak.Make(p))
			}
			if left := testkit.Uncollected(*patience, forgotten); left != 0 {
				t.Errorf("%d of %d contexts are reachable, want none", left, len(forgotten))
			}
			runtime.KeepAlive(parent)
		})
	}
}
