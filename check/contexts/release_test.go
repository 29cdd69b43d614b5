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
)

// payload is what a context keeps in memory.
type payload [64]byte

// longLived are contexts that do not end while others below them do.
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
		u := &afterFuncContext{userContext: userContext{Context: context.Background(), done: make(chan struct{}), watch: new(watch)}}
		return u, func() { u.end(context.Canceled) }
	},
	"user's": func() (context.Context, context.CancelFunc) {
		u := &userContext{Context: context.Background(), done: make(chan struct{}), watch: new(watch)}
		return u, func() { u.end(context.Canceled) }
	},
}

// useBriefly makes two contexts below parent and ends them while another goroutine uses them. It
// returns a pointer to what they keep in memory.
//
//go:noinline
func useBriefly(parent context.Context, ms makers, rng *rand.Rand) weak.Pointer[payload] {
	c := new(payload)
	pick := func() *maker { return ms[rng.IntN(2)] }
	parent = context.WithValue(parent, ctxKey(0), c)
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
	return weak.Make(c)
}

func TestEndedContextsAreReleasedByTheirParents(t *testing.T) {
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
				left := 0
				if !eventually(*patience, func() bool {
					runtime.GC()
					left = 0
					for _, p := range used {
						if p.Value() != nil {
							left++
						}
					}
					return left == 0
				}) {
					t.Errorf("%d of %d contexts that have ended are still in memory", left, len(used))
				}
				runtime.KeepAlive(parent)
			})
		}
	}
}
