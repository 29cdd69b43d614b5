package contexts

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

// A defect changes functions of a maker. It adds functions to c that release its goroutines and
// channels.
type defect func(m *maker, c *cleanup)

// A cleanup has functions to call at the end of a test.
type cleanup struct {
	mu    sync.Mutex
	funcs []func()
}

func (c *cleanup) add(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.funcs = append(c.funcs, f)
}

func (c *cleanup) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.funcs {
		f()
	}
	c.funcs = nil
}

// newChannel returns a channel that is closed at the end of the test.
func (c *cleanup) newChannel() chan struct{} {
	ch := make(chan struct{})
	c.add(func() { close(ch) })
	return ch
}

// wrapAll makes m return the result of f for each derived context.
func wrapAll(m *maker, f func(ctx, parent context.Context) context.Context) {
	withCancel, withCancelCause := m.withCancel, m.withCancelCause
	m.withCancel = func(parent context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := withCancel(parent)
		return f(ctx, parent), cancel
	}
	m.withCancelCause = func(parent context.Context) (context.Context, context.CancelCauseFunc) {
		ctx, cancel := withCancelCause(parent)
		return f(ctx, parent), cancel
	}
	withDeadlineCause := m.withDeadlineCause
	deadlines(m, func(parent context.Context, d time.Time, cause error) (context.Context, context.CancelFunc) {
		ctx, cancel := withDeadlineCause(parent, d, cause)
		return f(ctx, parent), cancel
	})
}

// deadlines makes m call f for each context with a deadline.
func deadlines(m *maker, f func(context.Context, time.Time, error) (context.Context, context.CancelFunc)) {
	m.withDeadlineCause = f
	m.withDeadline = func(parent context.Context, d time.Time) (context.Context, context.CancelFunc) {
		return f(parent, d, nil)
	}
	m.withTimeoutCause = func(parent context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
		return f(parent, time.Now().Add(d), cause)
	}
	m.withTimeout = func(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
		return f(parent, time.Now().Add(d), nil)
	}
}

// detached returns a context with the deadline and the values of parent that does not end with it.
func detached(parent context.Context) context.Context {
	d, ok := parent.Deadline()
	return deadlineWrapper{context.WithoutCancel(parent), d, ok}
}

// delayed returns a context whose Done is closed a moment after that of parent, if parent is a
// standard context.
func delayed(parent context.Context) context.Context {
	if !isStandard(parent) || parent.Done() == nil || isDone(parent) {
		return parent
	}
	done := make(chan struct{})
	context.AfterFunc(parent, func() { time.AfterFunc(100*time.Microsecond, func() { close(done) }) })
	return doneFunc{parent, func() <-chan struct{} { return done }}
}

// An errFunc calls a function for Err.
type errFunc struct {
	context.Context
	err func() error
}

func (c errFunc) Err() error { return c.err() }

// A doneFunc calls a function for Done.
type doneFunc struct {
	context.Context
	done func() <-chan struct{}
}

func (c doneFunc) Done() <-chan struct{} { return c.done() }

// A valueFunc calls a function for Value.
type valueFunc struct {
	context.Context
	value func(any) any
}

func (c valueFunc) Value(key any) any { return c.value(key) }

// sequentialDefects has defects that one goroutine can observe.
var sequentialDefects = map[string]defect{
	"a cause is lost": func(m *maker, _ *cleanup) {
		m.withCancelCause = func(parent context.Context) (context.Context, context.CancelCauseFunc) {
			ctx, cancel := context.WithCancelCause(parent)
			return ctx, func(error) { cancel(nil) }
		}
	},
	"the cause of a deadline is lost": func(m *maker, _ *cleanup) {
		deadlines(m, func(parent context.Context, d time.Time, _ error) (context.Context, context.CancelFunc) {
			return context.WithDeadline(parent, d)
		})
	},
	"a later cause replaces the first": func(m *maker, _ *cleanup) {
		m.withCancelCause = func(parent context.Context) (context.Context, context.CancelCauseFunc) {
			var last atomic.Pointer[context.Context]
			ctx, cancel := context.WithCancelCause(parent)
			w := valueFunc{ctx, func(key any) any {
				if _, standard := key.(*int); standard && last.Load() != nil {
					return (*last.Load()).Value(key)
				}
				return ctx.Value(key)
			}}
			return w, func(cause error) {
				carrier, end := context.WithCancelCause(context.Background())
				end(cause)
				last.Store(&carrier)
				cancel(cause)
			}
		}
	},
	"the cause depends on whether Done was called": func(m *maker, _ *cleanup) {
		wrapAll(m, func(ctx, _ context.Context) context.Context {
			var called atomic.Bool
			return valueFunc{doneFunc{ctx, func() <-chan struct{} {
				called.Store(true)
				return ctx.Done()
			}}, func(key any) any {
				if _, standard := key.(*int); standard && !called.Load() && ctx.Err() != nil {
					return nil
				}
				return ctx.Value(key)
			}}
		})
	},
	"a child is forgotten": func(m *maker, _ *cleanup) {
		m.withCancel = func(parent context.Context) (context.Context, context.CancelFunc) {
			return context.WithCancel(detached(parent))
		}
	},
	"a child of one that has ended is forgotten": func(m *maker, _ *cleanup) {
		m.withCancelCause = func(parent context.Context) (context.Context, context.CancelCauseFunc) {
			if parent.Err() != nil {
				parent = detached(parent)
			}
			return context.WithCancelCause(parent)
		}
	},
	"a child of a wrapper has the error of the embedded context": func(m *maker, _ *cleanup) {
		m.withCancel = func(parent context.Context) (context.Context, context.CancelFunc) {
			if w, ok := parent.(translatedWrapper); ok {
				parent = w.Context
			}
			return context.WithCancel(parent)
		}
	},
	"a child of a context without an error does not panic": func(m *maker, _ *cleanup) {
		m.withCancel = func(parent context.Context) (context.Context, context.CancelFunc) {
			if isDone(parent) && parent.Err() == nil {
				parent = detached(parent)
			}
			return context.WithCancel(parent)
		}
	},
	"a child ends a moment after its parent": func(m *maker, _ *cleanup) {
		m.withCancel = func(parent context.Context) (context.Context, context.CancelFunc) {
			return context.WithCancel(delayed(parent))
		}
	},
	"cancel returns too soon": func(m *maker, _ *cleanup) {
		m.withCancel = func(parent context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(parent)
			return ctx, func() { time.AfterFunc(100*time.Microsecond, cancel) }
		}
	},
	"an AfterFunc runs twice": func(m *maker, _ *cleanup) {
		m.afterFunc = func(ctx context.Context, f func()) func() bool {
			return context.AfterFunc(ctx, func() { f(); f() })
		}
	},
	"an AfterFunc runs twice if it is stopped late": func(m *maker, _ *cleanup) {
		m.afterFunc = func(ctx context.Context, f func()) func() bool {
			stop := context.AfterFunc(ctx, f)
			return func() bool {
				stopped := stop()
				if !stopped && ctx.Err() != nil {
					f()
				}
				return stopped
			}
		}
	},
	"an AfterFunc does not run": func(m *maker, _ *cleanup) {
		m.afterFunc = func(ctx context.Context, _ func()) func() bool { return context.AfterFunc(ctx, func() {}) }
	},
	"stop always returns true": func(m *maker, _ *cleanup) {
		m.afterFunc = func(ctx context.Context, f func()) func() bool {
			stop := context.AfterFunc(ctx, f)
			return func() bool { stop(); return true }
		}
	},
	"stop returns false": func(m *maker, _ *cleanup) {
		m.afterFunc = func(ctx context.Context, f func()) func() bool {
			stop := context.AfterFunc(ctx, f)
			return func() bool { stop(); return false }
		}
	},
	"Done is not closed": func(m *maker, c *cleanup) {
		wrapAll(m, func(ctx, _ context.Context) context.Context {
			done := c.newChannel()
			return doneFunc{ctx, func() <-chan struct{} { return done }}
		})
	},
	"Done is closed when a method is called": func(m *maker, c *cleanup) {
		wrapAll(m, func(ctx, _ context.Context) context.Context {
			if ctx.Err() != nil {
				return ctx
			}
			done := make(chan struct{})
			once := sync.OnceFunc(func() { close(done) })
			c.add(once)
			checkErr := func() error {
				err := ctx.Err()
				if err != nil {
					once()
				}
				return err
			}
			return doneFunc{errFunc{ctx, checkErr}, func() <-chan struct{} { checkErr(); return done }}
		})
	},
	"Done is another channel": func(m *maker, _ *cleanup) {
		closed := make(chan struct{})
		close(closed)
		wrapAll(m, func(ctx, _ context.Context) context.Context {
			return doneFunc{ctx, func() <-chan struct{} {
				if ctx.Err() != nil {
					return closed
				}
				return ctx.Done()
			}}
		})
	},
	"Err of a cancelled context is DeadlineExceeded": func(m *maker, _ *cleanup) {
		wrapAll(m, func(ctx, _ context.Context) context.Context {
			return errFunc{ctx, func() error {
				if _, timed := ctx.Deadline(); timed && ctx.Err() == context.Canceled {
					return context.DeadlineExceeded
				}
				return ctx.Err()
			}}
		})
	},
	"Err calls Err of the parent": func(m *maker, _ *cleanup) {
		wrapAll(m, func(ctx, parent context.Context) context.Context {
			return errFunc{ctx, func() error { _ = parent.Err(); return ctx.Err() }}
		})
	},
	"a deadline is late": func(m *maker, _ *cleanup) {
		deadlines(m, func(parent context.Context, d time.Time, cause error) (context.Context, context.CancelFunc) {
			return context.WithDeadlineCause(parent, d.Add(time.Hour), cause)
		})
	},
	"a sooner deadline of the parent is not respected": func(m *maker, _ *cleanup) {
		deadlines(m, func(parent context.Context, d time.Time, cause error) (context.Context, context.CancelFunc) {
			return context.WithDeadlineCause(deadlineWrapper{Context: parent}, d, cause)
		})
	},
	"a value is lost": func(m *maker, _ *cleanup) {
		wrapAll(m, func(ctx, _ context.Context) context.Context {
			return valueFunc{ctx, func(key any) any {
				if key == ctxKey(1) {
					return nil
				}
				return ctx.Value(key)
			}}
		})
	},
	"a context of WithoutCancel ends with its parent": func(m *maker, _ *cleanup) {
		m.withoutCancel = func(parent context.Context) context.Context { return deadlineWrapper{Context: parent} }
	},
	"a goroutine is left": func(m *maker, c *cleanup) {
		wrapAll(m, func(ctx, _ context.Context) context.Context {
			release := c.newChannel()
			go func() { <-release }()
			return ctx
		})
	},
	"an AfterFunc method is called and the function is never removed": func(m *maker, _ *cleanup) {
		wrapAll(m, func(ctx, parent context.Context) context.Context {
			if u, ok := parent.(*afterFuncContext); ok {
				u.AfterFunc(func() {})
			}
			return ctx
		})
	},
}

func TestEachDefectIsFoundByPrograms(t *testing.T) {
	testkit.SkipIfShort(t)
	wantEachFound(t, sequentialDefects, func(ms makers, seed uint64) error {
		return compare(decode(randomBytes(seed)), 100*time.Millisecond, ms)
	})
}

// wantEachFound calls try for each defect with several seeds until it returns an error, which shows
// that the defect was found.
func wantEachFound(
	t *testing.T, defects map[string]defect, try func(ms makers, seed uint64) error,
) {
	for name, d := range defects {
		t.Run(name, func(t *testing.T) {
			m, c := standardMaker, new(cleanup)
			d(&m, c)
			defer c.run()
			limit := time.Now().Add(*patience)
			for seed := *seedFlag; ; seed++ {
				if err := try(makers{&standardMaker, &m}, seed); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
				if time.Now().After(limit) {
					t.Fatalf("the defect was not found with %d seeds", seed-*seedFlag)
				}
			}
		})
	}
}
