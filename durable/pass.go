package durable

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

var errNotDue = errors.New("Run ended before the timer was due, or due again after the wall clock was set back")

// pass fires the timers that are due, as long as handlers are free. It is the callback of the timer
// of the run. A handler that ends while timers are waiting for it calls it, too.
//
// A handler's place is reserved before the store is asked. So a timer that waits for a place is still
// armed, and Cancel finds it.
//
// On a manual clock, the handlers of all timers that were due when pass was called have started when it
// returns.
func (r *run) pass() {
	r.wanted.Add(1)
	if !r.passes.TryLock() {
		select {
		case r.nudge <- struct{}{}:
		default:
		}
		r.passes.Lock()
	}
	r.serve()
	r.passes.Unlock()
	r.tryPass()
}

// tryPass serves calls of pass that are not served yet, unless a pass is running: that one does it then.
func (r *run) tryPass() {
	for r.wanted.Load() != 0 && r.passes.TryLock() {
		r.serve()
		r.passes.Unlock()
	}
}

// serve fires the timers that are due. The caller holds passes.
func (r *run) serve() {
	served := r.wanted.Load()
	defer r.wanted.Add(-served)
	select {
	case <-r.nudge: // was meant for an earlier pass
	default:
	}
	var ids []string
	for {
		now := r.s.wall()
		if !r.manual {
			r.noteStep(now.UnixNano())
			now = now.Add(r.ahead.by())
		}
		ids = r.takeDue(ids[:0], now)
		if len(ids) == 0 {
			if r.manual && r.s.wall().After(now) {
				continue // it may have moved before the timer of the run was armed
			}
			return
		}
		r.fire(ids, now)
	}
}

// takeDue takes timers that are due at a time out of the index, and reserves a handler's place for each.
// If it returns none, the timer of the run is armed for the next one.
func (r *run) takeDue(ids []string, now time.Time) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ending || r.failed != nil {
		return ids
	}
	r.wakeAt = never
	ids = r.index.take(ids, now.UnixNano(), min(passMax, r.s.opts.Concurrency-r.busy))
	r.busy += len(ids)
	r.handlers.Add(len(ids))
	r.loadMore(now.UnixNano())
	next, ok := r.index.next()
	r.starved = ok && next <= now.UnixNano() && r.busy >= r.s.opts.Concurrency
	if ok && !r.starved && len(ids) == 0 {
		r.arm(next)
	}
	if len(ids) == 0 && !r.loading && r.horizon > now.UnixNano() && r.horizon != never {
		r.arm(r.horizon)
	}
	return ids
}

// fire asks the store which of some timers fire, and starts their handlers.
func (r *run) fire(ids []string, now time.Time) {
	fired, err := r.s.store.Fire(ids, Rules{
		Now:        now,
		SkipBefore: r.skip,
		Attempts:   r.s.opts.Retry.Attempts,
		Handled:    r.Handles,
		Next:       func(t Timer, after time.Time) time.Time { return r.s.nexts[t.Kind](t, after) },
		HasNext:    func(kind string) bool { return r.s.nexts[kind] != nil },
	})
	if err != nil {
		r.Failed(err)
		r.release(len(ids))
		return
	}
	r.note(fired)
	r.noteUnhandled(ids, fired.Unhandled, now)
	if len(fired.Fires) == 0 && len(fired.Skipped)+len(fired.Dead) > 0 {
		r.handlers.Add(1)
		go r.keep(fired.Wait)
	}
	r.release(len(ids) - len(fired.Fires))
	for _, f := range fired.Fires {
		if r.manual {
			r.handleInOrder(f, fired.Wait)
		} else {
			go r.handle(f, fired.Wait, func() {})
		}
	}
}

// handleInOrder starts a handler, and waits until its attempt has ended, so that what follows from it
// has happened before the clock moves on. It does not wait long: the handler may wait for something that
// happens later.
func (r *run) handleInOrder(f Fire, wait func() error) {
	started, ended := make(chan struct{}), make(chan struct{})
	go r.handle(f, func() error {
		defer close(started)
		return wait()
	}, sync.OnceFunc(func() { close(ended) }))
	<-started
	patience := time.NewTimer(manualPatience)
	defer patience.Stop()
	select {
	case <-ended:
	case <-r.nudge: // it may be this handler that waits for the pass
	case <-patience.C:
	}
}

// keep waits until a decision is kept that no handler waits for. The end of the run waits for it.
func (r *run) keep(wait func() error) {
	defer r.handlers.Done()
	if err := wait(); err != nil {
		r.Failed(err)
	}
}

// note counts and logs what a store has decided, except for what fires.
func (r *run) note(fired Fired) {
	c, log := &r.s.counters, r.s.opts.Logger
	for _, t := range fired.Skipped {
		c.skipped.Add(1)
		log.Info("durable: a timer is skipped, because it came due while no Run was running", "id", t.ID, "kind", t.Kind, "at", t.At)
	}
	for _, f := range fired.Dead {
		c.died.Add(1)
		log.Error("durable: a timer is dead: the process has ended during each of its last attempts", "id", f.ID, "kind", f.Kind, "attempt", f.Attempt)
	}
	for _, t := range fired.Unhandled {
		if _, noted := r.s.noted.LoadOrStore(t.Kind, true); !noted {
			log.Warn("durable: timers of this kind are due, and there is no handler; they stay due", "kind", t.Kind, "id", t.ID)
		}
	}
}

// noteUnhandled notes which of some timers have no handler, after the store was asked about them.
//
// A timer may have been replaced or cancelled since the store has decided, and Wake or Gone called before: a
// load would leave out the timer that replaces it. So a timer that is noted for the first time is looked at
// again. If it has changed, Fire says so.
func (r *run) noteUnhandled(ids []string, unhandled []Timer, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(unhandled) == 0 && len(r.unhandled) == 0 {
		return
	}
	are := make(map[string]bool, len(unhandled))
	for _, t := range unhandled {
		are[t.ID] = true
	}
	for _, id := range ids {
		switch {
		case !are[id]:
			delete(r.unhandled, id)
		case !r.unhandled[id]:
			r.unhandled[id] = true
			r.index.set(id, now.Add(-time.Microsecond).UnixNano()) // the index rounds up
		}
	}
}

// noteStep counts and logs a step of the wall clock. The caller holds passes.
func (r *run) noteStep(now int64) {
	mono := time.Now()
	passed := mono.Sub(r.seen)
	step := time.Duration(now-r.seenWall) - passed
	if step.Abs() >= max(stepMin, passed/500) { // while nothing waits, a clock that is slewed moves far
		r.s.counters.steps.Add(1)
		r.s.opts.Logger.Warn("durable: the wall clock was set", "by", step.Round(time.Millisecond))
	}
	r.seen, r.seenWall = mono, now
}

// release gives back places of handlers that were reserved and are not used.
func (r *run) release(n int) {
	r.mu.Lock()
	r.busy -= n
	r.mu.Unlock()
	r.handlers.Add(-n)
}

// handle calls the handler of an occurrence as soon as wait has returned nil, and ends the attempt. It
// calls ended, maybe twice, when the end is decided.
func (r *run) handle(f Fire, wait func() error, ended func()) {
	defer r.handlers.Done()
	defer ended()
	if err := wait(); err != nil {
		r.Failed(err)
		r.free()
		return
	}
	if !r.manual && f.Attempt == 1 { // At of another attempt has long passed
		r.ahead.took(r.s.wall().Sub(f.At) + r.ahead.by())
	}
	if !r.awaitWall(f.At) {
		r.finish(f, Postpone(errNotDue, 0), ended) // its handler was not called
		return
	}
	f.Late = max(r.s.wall().Sub(f.At), 0)
	c := &r.s.counters
	c.started.Add(1)
	var err error
	defer func() { // also if the handler calls Goexit
		if f.Attempt == 1 && !errors.As(err, new(postponed)) {
			r.s.late.record(f.Late) // that of another attempt has the pauses before it
		}
		r.finish(f, err, ended)
	}()
	r.call(f, &err)
}

// finish ends an attempt with the result of its handler.
func (r *run) finish(f Fire, err error, ended func()) {
	end := r.endOf(f, err)
	ok, wait, failed := r.s.store.Finish(f, end)
	r.free()
	if r.manual {
		r.wanted.Add(1) // the clock may have moved on beyond the next attempt
		r.tryPass()
	}
	ended()
	if failed == nil {
		failed = wait()
	}
	if failed != nil {
		r.Failed(failed)
		return
	}
	r.count(f, err, end, ok)
}

// call calls the handler and stores its error. A panic becomes an error, and so does Goexit, which
// the caller does not survive.
func (r *run) call(f Fire, err *error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover() // nil after Goexit
		r.s.counters.panicked.Add(1)
		if *err = fmt.Errorf("the handler panicked: %v", v); v == nil {
			*err = errors.New("the handler called runtime.Goexit")
		}
		r.s.opts.Logger.Error("durable: a handler panicked", "id", f.ID, "kind", f.Kind, "attempt", f.Attempt, "panic", v, "stack", string(debug.Stack()))
	}()
	*err = r.s.handlers[f.Kind](r.ctx, f)
	returned = true
}

// endOf returns how an attempt ends after the handler has returned.
func (r *run) endOf(f Fire, err error) End {
	retry := r.s.opts.Retry
	var later postponed
	switch {
	case err == nil || errors.Is(err, Drop):
		return End{How: Done}
	case errors.Is(err, EndSeries):
		return End{How: Ended}
	case errors.As(err, &later):
		return End{How: Postponed, Retry: r.after(later.pause)}
	case retry.exhausted(f.Attempt):
		return End{How: Dead, Error: boundedError(err.Error())}
	}
	pause := retry.pause(f.Attempt)
	if after := (retryAfter{}); errors.As(err, &after) {
		pause = after.pause
	}
	return End{How: Again, Retry: r.after(pause)}
}

// after returns the time of the next call of a handler, after a pause.
func (r *run) after(pause time.Duration) time.Time {
	pause = min(pause, pauseMax)
	if !r.manual {
		pause += aheadMax // it is decided ahead, too, and its handler does not wait
	}
	return r.s.wall().Add(pause)
}

// count counts and logs an attempt that has ended. ok is the result of Finish. If it is false, the
// timer was replaced or cancelled, or the next occurrence comes first: nothing is counted, and a failure
// is logged.
func (r *run) count(f Fire, err error, end End, ok bool) {
	c := &r.s.counters
	if f.Attempt == 1 && end.How != Postponed { // other calls of the handler have the same Missed
		c.missed.Add(uint64(f.Missed))
	}
	switch {
	case end.How == Done && !ok:
		return
	case end.How != Done && end.How != Ended || !ok: // it is logged
	case errors.Is(err, Drop):
		c.dropped.Add(1)
		return
	default:
		c.handled.Add(1)
		return
	}
	log := r.s.opts.Logger.With("id", f.ID, "kind", f.Kind, "attempt", f.Attempt, "error", err)
	switch {
	case end.How == Ended:
		log.Warn("durable: a handler has not ended its series: the timer was replaced or cancelled, or its last occurrence has fired")
	case end.How == Postponed && ok:
		c.postponed.Add(1)
		log.Debug("durable: a timer was postponed; its handler is called again", "again", end.Retry)
	case end.How == Postponed:
		log.Debug("durable: a timer was postponed; its handler is not called again: the timer was replaced or cancelled, or the next occurrence comes first")
	case !ok:
		log.Warn("durable: a handler failed; it is not called again: its timer was replaced or cancelled, or the next occurrence comes first")
	case end.How == Again:
		c.retried.Add(1)
		log.Warn("durable: a handler failed; it is called again", "again", end.Retry)
	case end.How == Dead:
		c.died.Add(1)
		log.Error("durable: a timer is dead: its attempts are used up")
	}
}

// free gives the place of a handler back, and starts a pass if a timer waits for it.
func (r *run) free() {
	r.mu.Lock()
	r.busy--
	again := r.starved
	r.starved = false
	r.mu.Unlock()
	if again {
		r.wanted.Add(1)
		r.tryPass()
	}
}
