package contract_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
)

var shutdownRows = []foreignRow{
	{"Runtime.Shutdown", notShared, func(f *foreignTest) {
		f.own(func(t *testing.T) {
			for range 3 {
				kit.After(t, f.rt, hour, kit.Never(t, "a timer of a closed runtime"))
			}
		})
		f.startAlone()
		f.foreign(func(t *testing.T) { f.shutdownHere(t, context.Background(), 3) })
	}},
	{"Runtime.Shutdown, of the default runtime", func(w variant) bool { return w.shared }, func(f *foreignTest) {
		f.start()
		f.foreign(func(t *testing.T) {
			if _, err := f.rt.Shutdown(context.Background()); err == nil {
				t.Error("Shutdown of the default runtime returns nil, want an error")
			}
		})
	}},
	{"Runtime.Shutdown, with tasks and timers in all shards", notShared, func(f *foreignTest) {
		f.own(func(t *testing.T) {
			f.fromManyGoroutines(func() {
				_, err := f.rt.AfterFunc(hour, func() { f.problem("a timer of a closed runtime fires") })
				if err != nil {
					f.problem("AfterFunc: %v", err)
				}
			})
		})
		c, _ := f.task()
		f.startAlone()
		f.foreign(func(t *testing.T) { f.shutdownHere(t, context.Background(), manyGoroutines) })
		c.setBase()
	}},
	{"Runtime.Shutdown, while a callback runs", notEndedNotShared, func(f *foreignTest) {
		returned := f.running()
		f.releaseSoon()
		f.foreign(func(t *testing.T) {
			if f.shutdownHere(t, context.Background(), 0) == nil && !returned.Load() {
				t.Error("Shutdown returns nil before the callback has returned")
			}
		})
		f.awaitRelease()
	}},
	{"Runtime.Shutdown, with a context of the foreign place, while a callback runs", notEndedNotShared, func(f *foreignTest) {
		returned := f.running()
		f.releaseSoon()
		f.foreign(func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*millisecond)
			defer cancel()
			if f.shutdownHere(t, ctx, 0) == nil && !returned.Load() {
				t.Error("Shutdown returns nil before the callback has returned")
			}
		})
		f.awaitRelease()
	}},
	{"Runtime.Shutdown, with a context that ends while a callback runs", notEndedNotShared, func(f *foreignTest) {
		returned := f.running()
		ctx := f.limit()
		f.foreign(func(t *testing.T) {
			if f.shutdownHere(t, ctx, 0) == nil {
				t.Error("Shutdown returns nil while a callback runs")
			}
			if returned.Load() {
				t.Error("the callback has returned")
			}
		})
		f.releaseNow()
	}},
	{"Runtime.Shutdown, in both places while a callback runs", notEndedNotShared, func(f *foreignTest) {
		returned := f.running()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			f.foreign(func(t *testing.T) {
				if f.shutdownHere(t, context.Background(), 0) == nil && !returned.Load() {
					t.Error("Shutdown returns nil before the callback has returned")
				}
			})
		}()
		time.Sleep(10 * millisecond)
		f.releaseSoon()
		f.own(func(t *testing.T) {
			if n := kit.Shutdown(t, f.rt); n != 0 || !returned.Load() {
				t.Errorf("Shutdown in the place of the runtime returns %d, callback returned: %t, want 0, true",
					n, returned.Load())
			}
		})
		<-ended
		f.closed = true
	}},
	{"Runtime.Shutdown, while goroutines sleep and wait", notEndedNotShared, func(f *foreignTest) {
		q := f.queueOf(9)
		w := f.waiting(q, 0)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		ctx.Done() // makes the channel outside of all bubbles
		var slept atomic.Pointer[error]
		f.own(func(t *testing.T) {
			go func() {
				err := f.rt.Sleep(ctx, hour)
				slept.Store(&err)
			}()
			for f.rt.Stats().Armed == 0 {
				runtime.Gosched()
			}
		})
		f.foreign(func(t *testing.T) {
			f.shutdownHere(t, context.Background(), 2) // the sleep and the value
		})
		if !f.closed {
			cancel()
		}
		f.own(func(t *testing.T) {
			f.within(t, "Sleep returns", func() bool { return slept.Load() != nil })
			if err := *slept.Load(); f.closed && !errors.Is(err, foliot.ErrClosed) {
				t.Errorf("Sleep returns %v, want ErrClosed", err)
			}
			if !f.closed {
				w.wantAnother(t)
				f.before = f.rt.Stats()
				return
			}
			f.within(t, "Wait returns", w.ended.Load)
			if err := w.end(t); !errors.Is(err, foliot.ErrClosed) {
				t.Errorf("Wait returns %v, want ErrClosed", err)
			}
		})
	}},
}

// shutdownHere tries Shutdown in the foreign place and returns its error. Only a runtime that was
// made in a bubble may refuse it.
func (f *foreignTest) shutdownHere(t *testing.T, ctx context.Context, want int) error {
	t.Helper()
	n, err := f.rt.Shutdown(ctx)
	if err != nil && ctx.Err() == nil {
		refused(t, "Shutdown", err)
		if !f.made {
			t.Errorf("Shutdown returns %v, want nil", err)
		}
		return err
	}
	f.closed = true
	if n != want {
		t.Errorf("Shutdown returns %d, want %d", n, want)
	}
	return err
}

// running starts a callback that runs until release is closed. On a manual clock it starts a task
// whose poll runs as long.
func (f *foreignTest) running() (returned *atomic.Bool) {
	returned = new(atomic.Bool)
	f.startAlone()
	f.own(func(t *testing.T) {
		var began atomic.Bool
		block := func() {
			began.Store(true)
			<-f.release
			returned.Store(true)
		}
		if f.manual {
			f.mustSpawn(t, func(*foliot.Context) foliot.Status { block(); return foliot.Done })
		} else {
			kit.After(t, f.rt, 0, block)
		}
		for !began.Load() {
			// Sleep would not return: the clock of a bubble stops while the callback waits.
			runtime.Gosched()
		}
	})
	return returned
}

// awaitRelease returns when release is closed.
func (f *foreignTest) awaitRelease() { <-f.release }
