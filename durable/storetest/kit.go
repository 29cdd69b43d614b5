package storetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/durable"
)

// A kit is what a test of the suite needs: a store, a manual clock, a Scheduler, and a record of what
// its handlers have been called with. Its methods fail the test if something goes wrong.
type kit struct {
	*testing.T
	c     Config
	ctx   context.Context
	store Store
	clock *foliot.ManualClock
	opts  durable.Options
	s     *durable.Scheduler
	logs  *logs

	handlers map[string]durable.Handler
	nexts    map[string]durable.NextFunc // likewise
	running  *running                    // the Run that was started last, until it has ended
	crashed  bool

	mu      sync.Mutex
	started []durable.Fire
	ended   int
}

// running is a Run that was started.
type running struct {
	cancel context.CancelFunc
	result chan error
}

// start is the time at which the manual clocks begin.
var start = time.Date(2030, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

const (
	kind      = "kind"  // of most timers in the suite
	readyKind = "ready" // of the timers of kit.ready; calls of its handler are not recorded
)

// newKit opens a store, and makes a Scheduler on a manual clock.
func newKit(t *testing.T, c Config) *kit {
	k := &kit{T: t, c: c, ctx: t.Context(), clock: foliot.NewManualClock(start), logs: &logs{}, handlers: map[string]durable.Handler{}}
	k.opts = durable.Options{Clock: k.clock, Logger: slog.New(k.logs), Retry: durable.Retry{Min: time.Second, Max: time.Second}}
	k.store = c.Open(t)
	k.scheduler()
	t.Cleanup(func() {
		if k.running != nil {
			k.running.cancel()
			<-k.running.result
		}
		if !k.crashed {
			if err := k.store.Close(); err != nil && !errors.Is(err, durable.ErrClosed) {
				t.Errorf("Close returns %v", err)
			}
		}
	})
	return k
}

// scheduler makes another Scheduler on the store, with k.opts and the same handlers.
func (k *kit) scheduler() {
	k.Helper()
	s, err := durable.New(k.store, k.opts)
	if err != nil {
		k.Fatalf("New returns %v", err)
	}
	k.s = s
	for kind, h := range k.handlers {
		if kind != readyKind {
			h = k.record(h)
		}
		if next := k.nexts[kind]; next != nil {
			s.HandleNext(kind, h, next)
		} else {
			s.Handle(kind, h)
		}
	}
}

// with changes the options and makes another Scheduler.
func (k *kit) with(change func(o *durable.Options)) {
	k.Helper()
	change(&k.opts)
	k.scheduler()
}

// onRealClock makes a Scheduler on the clock of the system.
func (k *kit) onRealClock() { k.with(func(o *durable.Options) { o.Clock = nil }) }

// handle sets the handler of a kind, also for Schedulers that come later.
func (k *kit) handle(kind string, h durable.Handler) {
	k.handlers[kind] = h
	k.s.Handle(kind, k.record(h))
}

// handleNext does the same, with a function for timers with ByNext.
func (k *kit) handleNext(kind string, h durable.Handler, next durable.NextFunc) {
	k.handlers[kind] = h
	k.nexts = map[string]durable.NextFunc{kind: next}
	k.s.HandleNext(kind, k.record(h), next)
}

// handleDone sets a handler that returns nil.
func (k *kit) handleDone() { k.handle(kind, func(context.Context, durable.Fire) error { return nil }) }

// record returns a handler that records its calls and calls h.
func (k *kit) record(h durable.Handler) durable.Handler {
	return func(ctx context.Context, f durable.Fire) error {
		k.mu.Lock()
		k.started = append(k.started, f)
		k.mu.Unlock()
		defer func() {
			k.mu.Lock()
			k.ended++
			k.mu.Unlock()
		}()
		return h(ctx, f)
	}
}

// fires returns what handlers have been called with so far.
func (k *kit) fires() []durable.Fire {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.started)
}

// run starts Run.
func (k *kit) run() {
	k.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel, make(chan error, 1)}
	s := k.s
	go func() { r.result <- s.Run(ctx) }()
	k.running = r
}

// stop ends Run and returns its error.
func (k *kit) stop() error {
	k.Helper()
	r := k.running
	k.running = nil
	r.cancel()
	select {
	case err := <-r.result:
		return err
	case <-time.After(k.c.Patience):
		k.Fatal("Run does not end")
		return nil
	}
}

// mustStop ends Run, which must end in an orderly way.
func (k *kit) mustStop() {
	k.Helper()
	if err := k.stop(); err != nil {
		k.Fatalf("Run returns %v after its context has ended", err)
	}
}

// reopen ends Run if there is one, closes the store and opens it again, with another Scheduler.
func (k *kit) reopen() {
	k.Helper()
	if k.running != nil {
		k.mustStop()
	}
	if err := k.store.Close(); err != nil {
		k.Fatalf("Close returns %v", err)
	}
	k.store = k.c.Reopen(k.T, k.store)
	k.scheduler()
}

// crash crashes the store and opens it again, with another Scheduler. Handlers that run are left alone.
func (k *kit) crash() {
	k.Helper()
	k.crashed = true
	k.c.Crash(k.T, k.store)
	if k.running != nil {
		k.running.cancel()
		k.running = nil
	}
	k.store = k.c.Reopen(k.T, k.store)
	k.crashed = false
	k.scheduler()
}

// eventually waits until a condition holds.
func (k *kit) eventually(what string, holds func() bool) {
	k.Helper()
	deadline := time.Now().Add(k.c.Patience)
	for pause := 50 * time.Microsecond; !holds(); pause = min(2*pause, 10*time.Millisecond) {
		if time.Now().After(deadline) {
			k.Fatalf("%v have passed, and it is not so: %s", k.c.Patience, what)
		}
		time.Sleep(pause)
	}
}

// waitFires waits until handlers have been called n times, and returns these calls.
func (k *kit) waitFires(n int) []durable.Fire {
	k.Helper()
	k.eventually(fmt.Sprintf("handlers are called %d times", n), func() bool { return len(k.fires()) >= n })
	got := k.fires()
	if len(got) > n {
		k.Fatalf("handlers are called %d times, want %d: %v", len(got), n, fireNames(got))
	}
	return got
}

// advance moves the clock and waits until handlers have been called n times in all.
func (k *kit) advance(d time.Duration, n int) []durable.Fire {
	k.Helper()
	k.clock.Advance(d)
	return k.waitFires(n)
}

// settle waits until all handlers have returned and their outcomes are decided.
func (k *kit) settle() {
	k.Helper()
	k.eventually("no handler is running", func() bool {
		s := k.s.Stats()
		k.mu.Lock()
		defer k.mu.Unlock()
		return s.Running == 0 && k.ended == len(k.started)
	})
}

// schedule arms a timer of the usual kind, due after a time from now, and returns its revision.
func (k *kit) schedule(id string, in time.Duration) uint64 {
	k.Helper()
	return k.scheduleTimer(durable.Timer{ID: id, At: k.clock.Now().Add(in), Kind: kind})
}

func (k *kit) scheduleTimer(t durable.Timer, on ...durable.If) uint64 {
	k.Helper()
	rev, err := k.s.Schedule(k.ctx, t, on...)
	if err != nil {
		k.Fatalf("Schedule of %q returns %v", t.ID, err)
	}
	return rev
}

// cancel checks what Cancel returns.
func (k *kit) cancel(id string, want bool, on ...durable.If) {
	k.Helper()
	if ok, err := k.s.Cancel(k.ctx, id, on...); ok != want || err != nil {
		k.Fatalf("Cancel of %q returns %t and %v, want %t and nil", id, ok, err, want)
	}
}

// get returns a timer that must be there.
func (k *kit) get(id string) durable.Timer {
	k.Helper()
	t, ok, err := k.s.Get(k.ctx, id)
	if !ok || err != nil {
		k.Fatalf("Get of %q returns %t and %v", id, ok, err)
	}
	return t
}

// absent checks that there is no timer with an ID.
func (k *kit) absent(id string) {
	k.Helper()
	if t, ok, err := k.s.Get(k.ctx, id); ok || err != nil {
		k.Fatalf("Get of %q returns %+v, %t and %v, want no timer", id, t, ok, err)
	}
}

// eventuallyAbsent waits until there is no timer with an ID.
func (k *kit) eventuallyAbsent(id string) {
	k.Helper()
	k.eventually("there is no timer "+id, func() bool {
		_, ok, err := k.s.Get(k.ctx, id)
		if err != nil {
			k.Fatalf("Get of %q returns %v", id, err)
		}
		return !ok
	})
}

// list returns the IDs of the timers that a query selects.
func (k *kit) list(q durable.Query) (ids []string) {
	k.Helper()
	for t, err := range k.s.List(k.ctx, q) {
		if err != nil {
			k.Fatalf("List of %+v yields %v", q, err)
		}
		ids = append(ids, t.ID)
	}
	return ids
}

// dead returns the dead timers.
func (k *kit) dead() (all []durable.Fire) {
	k.Helper()
	for f, err := range k.s.Dead(k.ctx) {
		if err != nil {
			k.Fatalf("Dead yields %v", err)
		}
		all = append(all, f)
	}
	return all
}

// ready starts Run and waits until it has called the handler of a timer that was due already.
func (k *kit) ready() {
	k.Helper()
	if k.handlers[readyKind] == nil {
		k.handlers[readyKind] = func(context.Context, durable.Fire) error { return nil }
		k.s.Handle(readyKind, k.handlers[readyKind])
	}
	k.run()
	k.scheduleTimer(durable.Timer{ID: readyKind, At: k.clock.Now(), Kind: readyKind})
	k.eventuallyAbsent(readyKind)
}
