package contract_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	dropin "github.com/foliot-go/foliot/context"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// wantContext checks why a context has ended.
func wantContext(t testing.TB, what string, ctx context.Context, err, cause error) {
	t.Helper()
	if ctx.Err() != err || !errors.Is(context.Cause(ctx), cause) || cause == nil && context.Cause(ctx) != nil {
		t.Errorf("%s: Err is %v and Cause is %v, want %v and %v", what, ctx.Err(), context.Cause(ctx), err, cause)
	}
	if err == nil {
		return
	}
	select {
	case <-ctx.Done():
	default:
		t.Errorf("%s: Done is open", what)
	}
}

func TestShutdownEndsTheContextsOfItsRuntime(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"system":   {},
		"1 worker": {Workers: 1},
		"Go":       {Go: func(f func()) { go f() }},
		"manual":   {Clock: foliot.NewManualClock(kit.Epoch)},
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			other := kit.NewRuntime(t, foliot.Options{})
			contexts := map[string]context.Context{}
			add := func(name string, ctx context.Context, cancel context.CancelFunc) context.Context {
				t.Cleanup(cancel)
				contexts[name] = ctx
				return ctx
			}
			top, cancelTop := r.WithTimeoutCause(context.Background(), hour, errSlow)
			add("unused", top, cancelTop)
			waited, cancelWaited := r.WithTimeout(context.Background(), hour)
			add("waited for", waited, cancelWaited)
			done := waited.Done()
			below, cancelBelow := context.WithTimeout(waited, hour)
			add("a standard child", below, cancelBelow)
			second, cancelSecond := r.WithTimeout(below, hour/2)
			add("below the standard child", second, cancelSecond)
			drop, cancelDrop := dropin.WithTimeout(top, hour/2)
			add("a child of the drop-in", drop, cancelDrop)
			cancelled, cancel := r.WithTimeout(context.Background(), hour)
			cancel()
			without := context.WithoutCancel(waited)
			elsewhere, cancelElsewhere := other.WithTimeout(context.Background(), hour)
			defer cancelElsewhere()
			var called atomic.Bool
			context.AfterFunc(waited, func() { called.Store(true) })

			if n := kit.Shutdown(t, r); n != 3 {
				t.Errorf("Shutdown returns %d, want 3", n)
			}
			for name, ctx := range contexts {
				wantContext(t, name, ctx, context.Canceled, foliot.ErrClosed)
			}
			testkit.Receive(t, done, "the channel of Done")
			testkit.Eventually(t, "AfterFunc has called its function", called.Load)
			wantContext(t, "cancelled before", cancelled, context.Canceled, context.Canceled)
			wantContext(t, "WithoutCancel", without, nil, nil)
			wantContext(t, "of another runtime", elsewhere, nil, nil)
		})
	}
}

func TestShutdownEndsAContextThatACallbackWaitsFor(t *testing.T) {
	for name, run := range map[string]func(r *foliot.Runtime, f func()) error{
		"timer": func(r *foliot.Runtime, f func()) error { _, err := r.AfterFunc(0, f); return err },
		"task": func(r *foliot.Runtime, f func()) error {
			_, err := r.Spawn(foliot.TaskFunc(func(*foliot.Context) foliot.Status { f(); return foliot.Done }))
			return err
		},
	} {
		r := kit.NewRuntime(t, foliot.Options{})
		ctx, cancel := r.WithTimeout(context.Background(), hour)
		defer cancel()
		waits := make(chan struct{})
		if err := run(r, func() { close(waits); <-ctx.Done() }); err != nil {
			t.Fatal(err)
		}
		testkit.Receive(t, waits, name)
		kit.Shutdown(t, r)
		wantContext(t, name, ctx, context.Canceled, foliot.ErrClosed)
	}
}

func TestAContextOfAClosedOrFullRuntimeHasEnded(t *testing.T) {
	closed := kit.NewRuntime(t, foliot.Options{})
	kit.Shutdown(t, closed)
	closedManual := kit.NewRuntime(t, foliot.Options{Clock: foliot.NewManualClock(time.Now())})
	kit.Shutdown(t, closedManual)
	full := kit.NewRuntime(t, foliot.Options{MaxTimers: 1})
	timer := kit.After(t, full, hour, func() {})
	for name, test := range map[string]struct {
		r    *foliot.Runtime
		want error
	}{
		"closed":         {closed, foliot.ErrClosed},
		"closed, manual": {closedManual, foliot.ErrClosed},
		"full":           {full, foliot.ErrFull},
	} {
		r := test.r
		root := context.WithValue(context.Background(), contextKey("k"), 7)
		limit := r.Now().Add(time.Minute)
		limited, cancelLimited := context.WithDeadline(root, limit)
		defer cancelLimited()
		ended, cancelEnded := context.WithCancelCause(root)
		cancelEnded(errGone)
		for _, parent := range []context.Context{root, limited, ended} {
			for _, d := range []time.Duration{hour, second, 0, -hour} {
				deadline := r.Now().Add(d)
				all := []context.Context{}
				add := func(ctx context.Context, cancel context.CancelFunc) { cancel(); all = append(all, ctx) }
				add(r.WithTimeout(parent, d))
				add(r.WithDeadline(parent, deadline))
				add(r.WithTimeoutCause(parent, d, errSlow))
				add(r.WithDeadlineCause(parent, deadline, errSlow))
				want := test.want
				if parent == ended {
					want = errGone
				}
				for _, ctx := range all {
					wantContext(t, name, ctx, context.Canceled, want)
					wantAt := deadline
					if parent == limited && d == hour {
						wantAt = limit
					}
					at, ok := ctx.Deadline()
					if !ok || at.Sub(wantAt).Abs() > second/2 || ctx.Value(contextKey("k")) != 7 {
						t.Errorf("%s: Deadline is %v, want %v; the value is %v", name, at, wantAt, ctx.Value(contextKey("k")))
					}
					child, cancel := context.WithCancel(ctx)
					wantContext(t, name+", a child", child, context.Canceled, want)
					cancel()
				}
			}
		}
	}
	timer.Stop()
	ctx, cancel := full.WithTimeout(context.Background(), hour)
	wantContext(t, "with room again", ctx, nil, nil)
	cancel()
	if n := full.Stats().Armed; n != 0 {
		t.Errorf("Armed is %d, want 0", n)
	}
}

func TestAContextCountsAsATimerUntilItHasEnded(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{MaxTimers: 2})
	a, cancelA := r.WithTimeout(context.Background(), second)
	b, cancelB := r.WithTimeout(a, second/2)
	c, cancelC := r.WithTimeout(context.Background(), second)
	wantContext(t, "the third", c, context.Canceled, foliot.ErrFull)
	cancelC()
	clock.Advance(second / 2)
	wantContext(t, "the second", b, context.DeadlineExceeded, context.DeadlineExceeded)
	c, cancelC = r.WithTimeout(context.Background(), hour)
	wantContext(t, "after the deadline of the second", c, nil, nil)
	if st := r.Stats(); st.Armed != 2 || st.Fired != 1 {
		t.Errorf("Armed is %d and Fired is %d, want 2 and 1", st.Armed, st.Fired)
	}
	cancelC()
	cancelA()
	cancelB()
	if st := r.Stats(); st.Armed != 0 || st.Timers != 0 || st.Stopped != 2 {
		t.Errorf("Armed is %d, Timers %d and Stopped %d, want 0, 0 and 2", st.Armed, st.Timers, st.Stopped)
	}
}

func TestAContextOfANilParentPanics(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	for range 2 { // the second time the runtime is closed
		var none context.Context
		if v := testkit.PanicValue(func() { r.WithTimeout(none, hour) }); v == nil {
			t.Error("a nil parent does not panic")
		}
		kit.Shutdown(t, r)
	}
}

func TestContextsNeedNoPlaceInOptionsGo(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Go: func(func()) { t.Error("Options.Go is called"); select {} }})
	ctx, cancel := r.WithTimeout(context.Background(), millisecond)
	defer cancel()
	testkit.Receive(t, ctx.Done(), "the deadline")
}

func TestAllocationsOfAContextOfARuntime(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	for name, test := range map[string]struct {
		want float64
		use  func(context.Context)
	}{
		"cancelled": {2, func(context.Context) {}},
		"Done":      {3, func(ctx context.Context) { ctx.Done() }},
	} {
		n := testkit.AllocsPerRun(t, 2000, func() {
			ctx, cancel := r.WithTimeout(context.Background(), hour)
			test.use(ctx)
			cancel()
		})
		if n > test.want {
			t.Errorf("%s: %v allocations, want at most %v", name, n, test.want)
		}
	}
}
