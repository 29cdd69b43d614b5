package durable

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/durable/internal/skew"
)

// A Handler handles one occurrence of a timer. If it returns nil, the occurrence is done. If it
// returns [Drop], or an error that wraps it, the occurrence is done, too, and counts as dropped.
// [EndSeries] ends a periodic timer. [Postpone] has it called later, without an attempt. After any other error,
// and after a panic, it is called again later, as Options.Retry or [RetryAfter] says.
//
// The context ends when the Drain of a Run that ends is almost over, and when the store fails. A
// Handler should return soon then.
type Handler func(ctx context.Context, f Fire) error

// A Scheduler schedules timers in a store, and calls handlers when they are due. All of its methods
// may be called from any goroutine, also from handlers.
type Scheduler struct {
	store Store
	opts  Options

	mu       sync.Mutex
	handlers map[string]Handler  // not changed while a Run runs
	nexts    map[string]NextFunc // likewise, of HandleNext
	run      *run                // the Run that runs, or nil
	loaded   bool                // the Run that has begun last has brought timers into memory

	now func() time.Time // reads Options.Clock; tests replace it

	noted    sync.Map // kinds without a handler that were logged
	counters counters
	late     recorder // of Fire.Late
	commits  recorder // how long Schedule and Cancel took
}

// New returns a Scheduler for a store. It returns an error if an option is not valid.
func New(s Store, o Options) (*Scheduler, error) {
	if s == nil {
		return nil, fmt.Errorf("%w: the store is nil", ErrInvalid)
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	now := time.Now
	if o.Clock != nil {
		now = o.Clock.Now
	}
	if by, unskewed := skew.By, now; by != 0 {
		now = func() time.Time { return unskewed().Add(by) }
	}
	return &Scheduler{store: s, opts: o, now: now, handlers: make(map[string]Handler), nexts: make(map[string]NextFunc)}, nil
}

// Handle sets the handler of a kind. It must be called before Run. It panics if the kind is not
// valid or has a handler, if h is nil, and while a Run runs.
func (s *Scheduler) Handle(kind string, h Handler) {
	if err := checkKind(kind); err != nil {
		panic(err.Error())
	}
	if h == nil {
		panic("durable: the handler of kind " + kind + " is nil")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		panic("durable: Handle is called while Run runs; call it before")
	}
	if s.handlers[kind] != nil {
		panic("durable: kind " + kind + " has a handler already")
	}
	s.handlers[kind] = h
}

// A NextFunc returns the first occurrence of a periodic timer after a time, or the zero time if there is none.
// It is the calendar of the timers of a kind: "every day at three", a cron expression in the payload. It must
// return the same for the same arguments, return at once, and not call the Scheduler: the store waits for it. A
// panic in it is not recovered.
type NextFunc func(t Timer, after time.Time) time.Time

// HandleNext sets the handler of a kind, as Handle does, and how timers of this kind with ByNext go on. The
// next occurrence is armed when one fires. If some were missed, the latest one fires, and Fire.Missed counts the
// others. A process that has no NextFunc for a kind leaves such timers due.
func (s *Scheduler) HandleNext(kind string, h Handler, next NextFunc) {
	if next == nil {
		panic("durable: the NextFunc of kind " + kind + " is nil")
	}
	s.Handle(kind, h)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nexts[kind] = next
}

// Schedule arms a timer and returns its revision. A timer with the same ID is replaced, unless a
// condition forbids it: then Schedule returns [ErrExists] or [ErrRev]. If a handler is running for
// the timer that is replaced, it is not called again for it.
//
// If Schedule returns nil, the timer survives a crash. If it returns another error than those two,
// [ErrInvalid] and [ErrTooLarge], the timer may have been scheduled.
func (s *Scheduler) Schedule(ctx context.Context, t Timer, on ...If) (rev uint64, err error) {
	c, err := condition(on)
	if err != nil {
		return 0, err
	}
	revs, err := s.schedule(ctx, []Timer{t}, c)
	if err != nil {
		return 0, err
	}
	return revs[0], nil
}

// ScheduleBatch arms timers, all of them or none, as Schedule does, and returns their revisions. If
// an ID occurs more than once, the last timer wins.
func (s *Scheduler) ScheduleBatch(ctx context.Context, ts []Timer) (revs []uint64, err error) {
	return s.schedule(ctx, ts, Condition{})
}

func (s *Scheduler) schedule(ctx context.Context, ts []Timer, c Condition) ([]uint64, error) {
	for i := range ts {
		if err := ts[i].check(s.opts.MaxPayload); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	begin := time.Now()
	revs, err := s.store.Schedule(ctx, ts, c)
	if err != nil {
		return nil, err
	}
	s.commits.record(time.Since(begin))
	s.counters.scheduled.Add(uint64(len(ts)))
	s.look()
	return revs, nil
}

// Cancel removes a timer. If it returns true, no attempt starts from now on; if no attempt has
// failed or was postponed before, none has ever started. It returns false if nothing was armed: the timer is done, it
// is being handled now, or there was none. A periodic timer is armed for its next occurrence while
// one is being handled.
//
// With [IfRev], Cancel returns [ErrRev] if there is a timer and it has another revision.
func (s *Scheduler) Cancel(ctx context.Context, id string, on ...If) (ok bool, err error) {
	c, err := condition(on)
	if err == nil {
		err = checkID(id)
	}
	if err == nil && c.Absent {
		err = fmt.Errorf("%w: Cancel with IfAbsent would never do anything", ErrInvalid)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return false, err
	}
	begin := time.Now()
	ok, err = s.store.Cancel(ctx, id, c)
	if ok {
		s.commits.record(time.Since(begin))
		s.counters.cancelled.Add(1)
	}
	return ok, err
}

// Get returns a timer. It finds a timer until it has an outcome, also while it is being handled. For
// a periodic timer, At and Rev are those of the next occurrence.
func (s *Scheduler) Get(ctx context.Context, id string) (t Timer, ok bool, err error) {
	if err := errors.Join(checkID(id), ctx.Err()); err != nil {
		return Timer{}, false, err
	}
	return s.store.Get(ctx, id)
}

// List returns an iterator over the timers that a query selects, in order. A timer that changes
// meanwhile may be left out, or may come twice if it moves on in the order. List yields an error at most
// once, at the end.
func (s *Scheduler) List(ctx context.Context, q Query) iter.Seq2[Timer, error] {
	if q.Limit < 0 {
		return failedSeq[Timer](fmt.Errorf("%w: Query.Limit is %d; it must be 0 or more", ErrInvalid, q.Limit))
	}
	if q.Kind != "" {
		if err := checkKind(q.Kind); err != nil {
			return failedSeq[Timer](err)
		}
	}
	return s.store.List(ctx, q)
}

// Dead returns an iterator over the occurrences whose attempts are used up, in the order of their
// IDs. There is at most one for each ID, the last one. Attempt is the number of attempts, and Error is that of
// the last one. Dead yields an error at most once, at the end.
func (s *Scheduler) Dead(ctx context.Context) iter.Seq2[Fire, error] {
	return func(yield func(Fire, error) bool) {
		for f, err := range s.store.Dead(ctx) {
			f.Error = boundedError(f.Error) // an earlier version may have kept more
			if !yield(f, err) {
				return
			}
		}
	}
}

// Redrive arms a dead timer for now, under a new revision. An occurrence of a periodic timer is armed
// once. Redrive returns false if there is no dead timer with the ID, and [ErrExists] if there is a
// timer with the ID. So it cannot arm an occurrence of a periodic timer that goes on: schedule a timer
// with another ID and the payload of the dead one, and discard that one.
func (s *Scheduler) Redrive(ctx context.Context, id string) (ok bool, err error) {
	if err := errors.Join(checkID(id), ctx.Err()); err != nil {
		return false, err
	}
	ok, err = s.store.Redrive(ctx, id, s.wall())
	s.look()
	return ok, err
}

// Discard removes a dead timer and reports whether there was one.
func (s *Scheduler) Discard(ctx context.Context, id string) (ok bool, err error) {
	if err := errors.Join(checkID(id), ctx.Err()); err != nil {
		return false, err
	}
	return s.store.Discard(ctx, id)
}

// Runtime returns the runtime of the Run that is running, or nil if none is. It is for those who look at it,
// such as package inspect and a collector of metrics: its statistics say how late the system wakes the Run. It has
// one timer, for the next deadline, and those of handlers that wait for their deadlines; the index of timers is not
// in it. Each Run has another runtime, and shuts it down at its end. The caller must not shut it down.
func (s *Scheduler) Runtime() *foliot.Runtime {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return nil
	}
	return s.run.rt
}

// look starts the handlers of timers that were due when they were scheduled. It is for manual clocks
// only: otherwise a timer of the runtime does that.
func (s *Scheduler) look() {
	if _, manual := s.opts.Clock.(*foliot.ManualClock); !manual {
		return
	}
	s.mu.Lock()
	r := s.run
	s.mu.Unlock()
	if r != nil {
		r.pass()
	}
}

// wall returns the time of the wall clock, without a monotonic clock reading.
func (s *Scheduler) wall() time.Time {
	return s.now().Round(0)
}

func failedSeq[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		yield(zero, err)
	}
}
