package contexts

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

// concurrentDefects has defects that several goroutines can observe.
var concurrentDefects = map[string]defect{
	"an AfterFunc runs twice":                    sequentialDefects["an AfterFunc runs twice"],
	"an AfterFunc does not run":                  sequentialDefects["an AfterFunc does not run"],
	"stop always returns true":                   sequentialDefects["stop always returns true"],
	"stop returns false":                         sequentialDefects["stop returns false"],
	"a child is forgotten":                       sequentialDefects["a child is forgotten"],
	"a child of one that has ended is forgotten": sequentialDefects["a child of one that has ended is forgotten"],
	"a child ends a moment after its parent":     sequentialDefects["a child ends a moment after its parent"],
	"cancel returns too soon":                    sequentialDefects["cancel returns too soon"],
	"Done is not closed":                         sequentialDefects["Done is not closed"],
	"Done is closed when a method is called":     sequentialDefects["Done is closed when a method is called"],
	"a goroutine is left":                        sequentialDefects["a goroutine is left"],
	"a child that is made while its parent ends is forgotten": func(m *maker, _ *cleanup) {
		m.withCancel = func(parent context.Context) (context.Context, context.CancelFunc) {
			live := parent.Err() == nil
			runtime.Gosched()
			if live && parent.Err() != nil {
				parent = detached(parent)
			}
			return context.WithCancel(parent)
		}
	},
	"an AfterFunc that is made while the context ends does not run": func(m *maker, _ *cleanup) {
		m.afterFunc = func(ctx context.Context, f func()) func() bool {
			live := ctx.Err() == nil
			runtime.Gosched()
			if live && ctx.Err() != nil {
				f = func() {}
			}
			return context.AfterFunc(ctx, f)
		}
	},
	"Err comes before Done": func(m *maker, c *cleanup) {
		wrapAll(m, func(ctx, _ context.Context) context.Context {
			if ctx.Err() != nil {
				return ctx
			}
			done := make(chan struct{})
			end := sync.OnceFunc(func() { close(done) })
			c.add(end)
			context.AfterFunc(ctx, end)
			return doneFunc{ctx, func() <-chan struct{} { return done }}
		})
	},
	"Done comes before Err": func(m *maker, _ *cleanup) {
		wrapAll(m, func(ctx, _ context.Context) context.Context {
			var late atomic.Bool
			if ctx.Err() != nil {
				return ctx
			}
			context.AfterFunc(ctx, func() { late.Store(true) })
			return errFunc{ctx, func() error {
				if late.Load() {
					return ctx.Err()
				}
				return nil
			}}
		})
	},
	"Err changes": func(m *maker, _ *cleanup) {
		wrapAll(m, func(ctx, _ context.Context) context.Context {
			var calls atomic.Int32
			return errFunc{ctx, func() error {
				err := ctx.Err()
				if err == context.Canceled && calls.Add(1) > 5 {
					return context.DeadlineExceeded
				}
				return err
			}}
		})
	},
	"the cause changes": sequentialDefects["a later cause replaces the first"],
	"the cause is made up": func(m *maker, _ *cleanup) {
		m.withCancelCause = func(parent context.Context) (context.Context, context.CancelCauseFunc) {
			ctx, cancel := context.WithCancelCause(parent)
			return ctx, func(error) { cancel(errors.New("made up")) }
		}
	},
	"the cause of the parent is not passed on": func(m *maker, _ *cleanup) {
		m.withCancel = func(parent context.Context) (context.Context, context.CancelFunc) {
			return context.WithCancel(valueFunc{parent, func(key any) any {
				if _, standard := key.(*int); standard {
					return nil
				}
				return parent.Value(key)
			}})
		}
	},
	"a deadline is early": func(m *maker, _ *cleanup) {
		deadlines(m, func(parent context.Context, d time.Time, cause error) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithDeadlineCause(parent, d.Add(-200*time.Microsecond), cause)
			return deadlineWrapper{ctx, d, true}, cancel
		})
	},
}

func TestEachDefectIsFoundInSharedTrees(t *testing.T) {
	testkit.SkipIfShort(t)
	wantEachFound(t, concurrentDefects, func(ms makers, seed uint64) error {
		tree := &sharedTree{makers: ms, patience: 100 * time.Millisecond}
		return tree.run(seed, 2+int(seed%4), 5+int(seed%60))
	})
}

func TestEachDefectIsFoundByShortRaces(t *testing.T) {
	testkit.SkipIfShort(t)
	wantEachFound(t, concurrentDefects, func(ms makers, seed uint64) error {
		tree := &sharedTree{makers: ms, patience: 100 * time.Millisecond}
		return tree.raceOnce(seed)
	})
}
