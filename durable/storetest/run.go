package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// runTests test the begin and the end of Run.
var runTests = []test{
	{name: "Run waits for handlers", run: drains},
	{name: "Run waits at most Drain, and tells handlers before", run: drainEnds},
	{name: "After an orderly end, what was due and not started has Attempt 1", run: endsInOrder},
	{name: "A second Run at the same time is an error", run: secondRun},
	{name: "A second Run of another Scheduler on the store is an error", run: secondScheduler, needs: needsOneNode},
	{name: "Run after Run goes on", run: runAgain},
	{name: "Runtime returns that of the Run that is running", run: runtimes},
	{name: "Stats.Loading is true until Run has brought the timers into memory", run: loads},
	{name: "Nothing fires without Run", run: noRun},
	{name: "Run returns when the store is closed", run: runClosed},
	{name: "Calls with a context that has ended change nothing", run: endedContext},
}

// handlerTests test what handlers may do.
var handlerTests = []test{
	{name: "Handle twice for a kind panics", run: handlesTwice},
	{name: "Handlers may call all methods", run: callsFromHandlers},
	{name: "A handler that fails for many timers at once loses none", run: manyFail},
}

func loads(k *kit) {
	const n = 20
	for i := range n {
		k.schedule(fmt.Sprint(i), time.Hour)
	}
	for range 2 {
		if st := k.s.Stats(); !st.Loading || st.Loaded != 0 {
			k.Errorf("before Run, Loading is %t and Loaded is %d, want true and 0", st.Loading, st.Loaded)
		}
		k.run()
		k.eventually("the timers are loaded", func() bool { return !k.s.Stats().Loading })
		if st := k.s.Stats(); st.Loaded != n || st.Pending != n || st.Loading {
			k.Errorf("after the load, Loaded is %d, Pending is %d and Loading is %t, want %d, %d and false", st.Loaded, st.Pending, st.Loading, n, n)
		}
		k.reopen()
	}
}

func runtimes(k *kit) {
	k.handleDone()
	if rt := k.s.Runtime(); rt != nil {
		k.Errorf("before Run, Runtime returns %v, want nil", rt)
	}
	k.ready()
	rt := k.s.Runtime()
	if rt == nil {
		k.Fatal("while Run runs, Runtime returns nil")
	}
	before := rt.Stats().Fired
	k.schedule("x", time.Second)
	k.advance(time.Second, 1)
	if st := rt.Stats(); st.Fired == before {
		k.Errorf("a timer has fired, and the runtime has not: %+v", st)
	}
	k.mustStop()
	if rt := k.s.Runtime(); rt != nil {
		k.Errorf("after Run, Runtime returns %v, want nil", rt)
	}
	k.ready()
	if again := k.s.Runtime(); again == nil || again == rt {
		k.Errorf("the second Run has the runtime %p, and the first one %p", again, rt)
	}
}

func drains(k *kit) {
	g := newGate()
	k.handle(kind, g.handler)
	k.ready()
	k.schedule("x", 0)
	g.called(k)
	k.running.cancel()
	select {
	case err := <-k.running.result:
		k.Fatalf("Run returns %v while a handler runs", err)
	case <-time.After(20 * time.Millisecond):
	}
	k.schedule("y", 0) // is not fired by a Run that ends
	g.end(k, nil)
	k.mustStop()
	k.absent("x")
	k.get("y")
	k.waitFires(1)
}

func drainEnds(k *kit) {
	told, release := make(chan struct{}), make(chan struct{})
	k.handle(kind, func(ctx context.Context, f durable.Fire) error {
		if f.Attempt > 1 {
			return nil
		}
		<-ctx.Done()
		close(told)
		<-release
		return ctx.Err()
	})
	k.with(func(o *durable.Options) { o.Drain = 20 * time.Millisecond })
	k.ready()
	rev := k.schedule("x", 0)
	k.waitFires(1)
	if err := k.stop(); err == nil {
		k.Error("Run returns nil though a handler is running")
	}
	select {
	case <-told:
	case <-time.After(k.c.Patience):
		k.Fatal("the context of the handler has not ended after Drain")
	}
	k.scheduler()
	k.ready()
	k.waitFires(1) // it is still being handled
	k.cancel("x", false)
	close(release)
	k.eventually("the handler is called again", func() bool {
		k.clock.Advance(time.Second)
		return len(k.fires()) == 2
	})
	if f := k.fires()[1]; f.Attempt != 2 || f.Rev != rev {
		k.Errorf("then it is called with %s#%d, want revision %d, attempt 2", f.Key(), f.Attempt, rev)
	}
	k.eventuallyAbsent("x")
}

func endsInOrder(k *kit) {
	g := newGate()
	k.handle(kind, g.handler)
	k.with(func(o *durable.Options) { o.Concurrency = 1 })
	for i := range 5 {
		k.schedule(fmt.Sprint(i), time.Duration(i))
	}
	k.clock.Advance(time.Second)
	k.run()
	g.called(k)
	k.running.cancel()
	time.Sleep(20 * time.Millisecond) // Run notices it, normally
	ended := make(chan struct{})
	defer close(ended)
	go func() { // handlers that were started before Run has noticed it end, too
		for {
			select {
			case g.result <- nil:
			case <-ended:
				return
			}
		}
	}()
	k.mustStop()
	n := len(k.fires())
	k.handlers[kind] = func(context.Context, durable.Fire) error { return nil }
	k.reopen()
	k.ready()
	for i, f := range k.waitFires(5) {
		if f.ID != fmt.Sprint(i) || f.Attempt != 1 {
			k.Errorf("call %d is %s#%d; %d were started before the end", i, f.Key(), f.Attempt, n)
		}
	}
}

func secondRun(k *kit) {
	k.handleDone()
	k.ready()
	if err := runBriefly(k, k.s); err == nil {
		k.Error("a second Run returns nil")
	}
	k.schedule("x", time.Second)
	k.advance(time.Second, 1) // the first one goes on
}

func secondScheduler(k *kit) {
	k.handleDone()
	k.ready()
	other, err := durable.New(k.store, k.opts)
	if err != nil {
		k.Fatal(err)
	}
	if err := runBriefly(k, other); err == nil {
		k.Error("Run of a second Scheduler returns nil")
	}
	if _, err := other.Schedule(k.ctx, durable.Timer{ID: "x", At: start.Add(time.Second), Kind: kind}); err != nil {
		k.Errorf("Schedule of a second Scheduler returns %v", err)
	}
	k.advance(time.Second, 1) // the first one goes on
}

// runBriefly calls Run, which must return at once.
func runBriefly(k *kit, s *durable.Scheduler) error {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.ctx, k.c.Patience)
	defer cancel()
	err := s.Run(ctx)
	if ctx.Err() != nil {
		k.Error("a second Run does not return")
	}
	return err
}

func runAgain(k *kit) {
	k.handleDone()
	for n := 1; n <= 5; n++ {
		k.run()
		k.schedule(fmt.Sprint(n), time.Second)
		k.advance(time.Second, n)
		k.mustStop()
	}
}

func noRun(k *kit) {
	k.handleDone()
	k.schedule("x", 0)
	k.clock.Advance(time.Hour)
	k.waitFires(0)
	k.get("x")
	k.cancel("x", true)
	k.ready()
	k.waitFires(0)
}

func runClosed(k *kit) {
	k.handleDone()
	k.ready()
	if err := k.store.Close(); err != nil {
		k.Fatalf("Close returns %v", err)
	}
	select {
	case err := <-k.running.result:
		if !is(err, durable.ErrClosed) {
			k.Errorf("Run returns %v, want ErrClosed", err)
		}
	case <-time.After(k.c.Patience):
		k.Fatal("Run does not return after Close")
	}
	k.running = nil
}

func endedContext(k *kit) {
	k.schedule("x", time.Hour)
	ctx, cancel := context.WithCancel(k.ctx)
	cancel()
	t := durable.Timer{ID: "y", At: start, Kind: kind}
	_, scheduled := k.s.Schedule(ctx, t)
	_, batched := k.s.ScheduleBatch(ctx, []durable.Timer{t})
	_, cancelled := k.s.Cancel(ctx, "x")
	_, _, got := k.s.Get(ctx, "x")
	var listed, dead error
	for _, err := range k.s.List(ctx, durable.Query{}) {
		listed = err
	}
	for _, err := range k.s.Dead(ctx) {
		dead = err
	}
	_, redriven := k.s.Redrive(ctx, "x")
	_, discarded := k.s.Discard(ctx, "x")
	for name, err := range map[string]error{
		"Schedule": scheduled, "ScheduleBatch": batched, "Cancel": cancelled, "Get": got,
		"List": listed, "Dead": dead, "Redrive": redriven, "Discard": discarded,
	} {
		if !errors.Is(err, context.Canceled) {
			k.Errorf("%s with a context that has ended returns %v", name, err)
		}
	}
	k.get("x")
	k.absent("y")
}

func handlesTwice(k *kit) {
	k.handleDone()
	mustPanic := func(what string, f func()) {
		k.Helper()
		defer func() {
			if recover() == nil {
				k.Errorf("%s does not panic", what)
			}
		}()
		f()
	}
	h := func(context.Context, durable.Fire) error { return nil }
	mustPanic("Handle twice for a kind", func() { k.s.Handle(kind, h) })
	mustPanic("Handle of a kind that is not valid", func() { k.s.Handle("not valid", h) })
	mustPanic("Handle of nil", func() { k.s.Handle("other", nil) })
}

func callsFromHandlers(k *kit) {
	k.onRealClock()
	var calls atomic.Int64
	var mu sync.Mutex
	var errs []error
	k.handle(kind, func(ctx context.Context, f durable.Fire) error {
		n := calls.Add(1)
		var e [5]error
		_, e[0] = k.s.Schedule(ctx, durable.Timer{ID: fmt.Sprint("from ", f.ID), At: time.Now().Add(time.Hour), Kind: kind})
		_, e[1] = k.s.Cancel(ctx, fmt.Sprint("from ", f.ID))
		_, _, e[2] = k.s.Get(ctx, f.ID)
		for _, err := range k.s.List(ctx, durable.Query{Prefix: f.ID}) {
			e[3] = err
		}
		if n < 20 {
			_, e[4] = k.s.Schedule(ctx, durable.Timer{ID: fmt.Sprint(n), At: time.Now(), Kind: kind})
		}
		mu.Lock()
		errs = append(errs, e[:]...)
		mu.Unlock()
		return nil
	})
	k.with(func(o *durable.Options) { o.Concurrency = 2 })
	k.run()
	k.scheduleTimer(durable.Timer{ID: "first", At: time.Now(), Kind: kind})
	k.waitFires(20)
	k.settle()
	if err := errors.Join(errs...); err != nil {
		k.Errorf("calls from handlers return %v", err)
	}
	if ids := k.list(durable.Query{}); len(ids) != 0 {
		k.Errorf("the timers %q are left", ids)
	}
}

func manyFail(k *kit) {
	k.onRealClock()
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		if f.Attempt < 3 {
			return errHandler
		}
		return nil
	})
	k.with(func(o *durable.Options) { o.Retry = durable.Retry{Min: time.Millisecond, Max: 5 * time.Millisecond} })
	const n = 300
	ts := make([]durable.Timer, n)
	for i := range ts {
		ts[i] = durable.Timer{ID: fmt.Sprint(i), At: time.Now(), Kind: kind}
	}
	if _, err := k.s.ScheduleBatch(k.ctx, ts); err != nil {
		k.Fatal(err)
	}
	k.run()
	k.eventually("all timers are done", func() bool { return k.s.Stats().Handled == n })
	seen := map[string]int{}
	for _, f := range k.fires() {
		if seen[f.ID]++; f.Attempt != seen[f.ID] {
			k.Errorf("call %d of timer %s has attempt %d", seen[f.ID], f.ID, f.Attempt)
		}
	}
	if len(k.fires()) != 3*n {
		k.Errorf("handlers are called %d times, want %d", len(k.fires()), 3*n)
	}
}
