package context_test

import (
	std "context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot/context"
)

// concurrently runs functions on goroutines that start at the same time.
func concurrently(fs ...func()) {
	start := make(chan struct{})
	var all sync.WaitGroup
	for _, f := range fs {
		all.Go(func() {
			<-start
			f()
		})
	}
	close(start)
	all.Wait()
}

// All subsets of some operations run at the same time, below each kind of parent.
func TestAContextHasOneReasonWhateverRunsAtTheSameTime(t *testing.T) {
	const (
		timer = 1 << iota
		parentEnds
		cancelled
		childMade
		standardChildMade
		asked
		all
	)
	rounds := 12
	if testing.Short() {
		rounds = 2
	}
	parents := map[string]func() (std.Context, std.CancelCauseFunc){
		"standard": func() (std.Context, std.CancelCauseFunc) { return std.WithCancelCause(std.Background()) },
		"own": func() (std.Context, std.CancelCauseFunc) {
			top, _ := context.WithTimeout(std.Background(), 2*hour)
			return context.WithCancelCause(top)
		},
		"own below a standard one": func() (std.Context, std.CancelCauseFunc) {
			top, cancel := std.WithCancelCause(std.Background())
			ctx, _ := context.WithTimeout(top, 2*hour)
			return ctx, cancel
		},
	}
	for name, newParent := range parents {
		t.Run(name, func(t *testing.T) {
			for what := range all {
				for round := range rounds {
					for _, waited := range []bool{false, true} {
						parent, endParent := newParent()
						d := hour
						if what&timer != 0 {
							d = time.Duration(rand.N(150)) * time.Microsecond
						}
						ctx, cancel := context.WithTimeoutCause(parent, d, errTooSlow)
						if waited {
							ctx.Done()
						}
						var mu sync.Mutex
						below := []std.Context{ctx}
						add := func(child std.Context, _ std.CancelFunc) {
							mu.Lock()
							defer mu.Unlock()
							below = append(below, child)
						}
						var fs []func()
						if what&parentEnds != 0 {
							fs = append(fs, func() { endParent(errGaveUp) })
						}
						if what&cancelled != 0 {
							fs = append(fs, cancel, cancel)
						}
						if what&childMade != 0 {
							fs = append(fs, func() { add(context.WithTimeout(ctx, hour/2)) }, func() { add(context.WithCancel(wrapper{ctx})) })
						}
						if what&standardChildMade != 0 {
							fs = append(fs, func() { add(std.WithCancel(std.WithValue(ctx, testKey("k"), 1))) })
						}
						if what&asked != 0 {
							fs = append(fs, func() {
								for range 20 {
									if err := ctx.Err(); err != nil && !isDone(ctx) {
										t.Error("Err returns an error, and Done is not closed")
									}
									if cause := std.Cause(ctx); cause != nil && ctx.Err() == nil {
										t.Error("there is a cause and no error")
									}
								}
							})
						}
						concurrently(fs...)
						if what&(timer|parentEnds|cancelled) == 0 {
							wantLive(t, "nothing has happened", ctx)
							cancel()
						}
						await(t, fmt.Sprintf("%b, round %d", what, round), ctx)
						err, cause := ctx.Err(), std.Cause(ctx)
						switch {
						case err == std.DeadlineExceeded && cause == errTooSlow && what&timer != 0:
						case err == std.Canceled && cause == errGaveUp && what&parentEnds != 0:
						case err == std.Canceled && cause == std.Canceled && (what&cancelled != 0 || what&(timer|parentEnds) == 0):
						default:
							t.Fatalf("%b, waited %t: the context ended with %v for %v", what, waited, err, cause)
						}
						for _, child := range below {
							await(t, fmt.Sprintf("%b, below", what), child)
							wantEnded(t, fmt.Sprintf("%b, below", what), child, err, cause)
						}
						cancel()
						endParent(nil)
					}
				}
			}
		})
	}
}

// Goroutines make, ask and cancel contexts of one tree. In the end all of them have ended.
func TestATreeThatManyGoroutinesUseEnds(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		base, cancelBase := std.WithCancelCause(std.Background())
		root, cancelRoot := context.WithTimeout(base, 5*millisecond+rand.N(5*millisecond))
		var mu sync.Mutex
		all, cancels := []std.Context{root}, []std.CancelFunc{cancelRoot}
		var workers sync.WaitGroup
		for range 4 {
			workers.Go(func() {
				for range 100 {
					mu.Lock()
					parent := all[rand.N(len(all))]
					mu.Unlock()
					var child std.Context
					var cancel std.CancelFunc
					switch rand.N(5) {
					case 0:
						child, cancel = std.WithCancel(wrapper{parent})
					case 1:
						child, cancel = context.WithCancel(std.WithValue(parent, testKey("k"), 1))
					case 2:
						child, cancel = context.WithTimeout(parent, rand.N(10*millisecond))
					default:
						child, cancel = context.WithTimeout(parent, hour)
					}
					if rand.N(3) == 0 {
						child.Done()
					}
					if rand.N(4) == 0 {
						cancel()
					} else if rand.N(2) == 0 {
						_ = parent.Err()
					}
					mu.Lock()
					all, cancels = append(all, child), append(cancels, cancel)
					mu.Unlock()
				}
			})
		}
		workers.Wait()
		if rand.N(2) == 0 {
			cancelBase(errGaveUp)
		}
		for i, ctx := range all {
			await(t, fmt.Sprint("context ", i), ctx)
			if ctx.Err() == nil || std.Cause(ctx) == nil {
				t.Fatalf("context %d: Err %v, Cause %v", i, ctx.Err(), std.Cause(ctx))
			}
		}
		for _, cancel := range cancels {
			cancel()
		}
		cancelBase(nil)
	}
}
