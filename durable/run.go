package durable

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// A run is what one call of Run needs. It is the Watcher of the store: the index holds when to look
// at which timer, a timer of a runtime wakes the run for the first of them, and pass then asks the
// store what fires.
//
// The index is a hint, the store decides. So it does not matter if the index has a timer that was
// cancelled, or does not have one that is due after the horizon. What must hold is: each timer that is
// armed for a time before the horizon is in the index with this time or an earlier one, or a pass has
// taken it out and has not called Fire yet, or it is due and in unhandled.
type run struct {
	s      *Scheduler
	rt     *foliot.Runtime
	manual bool // the clock is a ManualClock
	skip   time.Time
	ctx    context.Context // of the handlers
	cancel context.CancelFunc
	ahead  ahead // how long before their deadlines timers are decided

	// The holder of passes owns these.
	seen     time.Time // when a pass last looked at the clock, with the monotonic clock reading
	seenWall int64     // what the wall clock showed then

	passes sync.Mutex    // held by a pass. It is locked before the locks of the store and before mu
	wanted atomic.Int64  // calls of pass that no pass has served yet
	nudge  chan struct{} // has room for 1; a manual clock: pass is called while another one runs

	mu        sync.Mutex // protects what follows. The store calls methods that lock it
	index     index
	unhandled map[string]bool // timers that are due and have no handler
	horizon   int64           // timers that are due then or later may not be in the index. A load begins then, if not before
	loading   bool
	timer     foliot.Timer
	wakeAt    int64 // the wall time for which timer is armed
	busy      int   // handlers that run or that a pass has reserved
	starved   bool  // a timer is due and no handler was free
	ending    bool  // no pass takes anything any more
	failed    error
	failure   chan struct{} // closed when failed is set

	handlers sync.WaitGroup // one for each of busy, until its outcome is kept
	loads    sync.WaitGroup // the goroutines that bring timers into memory, or remove them
}

// Bounds of what is in memory. Tests make them small.
var (
	// loadMax is how many timers a load brings into memory. The next load begins when half of them
	// have left. With a manual clock all are in memory, because Advance does not wait for a load.
	loadMax = 1 << 20

	// loadFirst is how many timers are loaded before the first pass.
	loadFirst = 1 << 12
)

const (
	never = int64(1<<63 - 1)

	// stepCheck is how often the run compares the wall clock with the time for which it waits.
	stepCheck = 500 * time.Millisecond

	// stepMin is the shortest step of the wall clock that counts as one. A clock that is slewed moves
	// less between two passes.
	stepMin = 10 * time.Millisecond

	// manualPatience is how long a pass waits for a handler on a manual clock. It is longer than a busy
	// system lets a goroutine wait for a processor, usually: handlers start in order then.
	manualPatience = 50 * time.Millisecond

	// closeTime is how long the end of a run waits for a pass.
	closeTime = time.Second

	// pauseMax is the longest pause that RetryAfter and Postpone can ask for.
	pauseMax = 366 * 24 * time.Hour

	// passMax is how many timers a pass fires in one commit.
	passMax = 256
)

// Run fires timers and calls their handlers until ctx ends. Then it waits for the handlers that are
// running, at most for Options.Drain. It returns nil after an orderly end. It returns an error if the
// store fails, if handlers are still running after Drain, and if another Run is running on the store.
// Timers that are due and whose handlers were not started fire in the next Run.
func (s *Scheduler) Run(ctx context.Context) error {
	r, err := s.begin()
	if err != nil {
		return err
	}
	stop, err := s.store.Watch(r)
	if err != nil {
		r.close()
		return err
	}
	r.loads.Go(func() { r.loadFrom(ctx, time.Time{}) })
	select {
	case <-ctx.Done():
	case <-r.failure:
	}
	err = r.end()
	r.loads.Wait()
	stop()
	r.close()
	return err
}

// begin makes the run of a Scheduler.
func (s *Scheduler) begin() (*run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		return nil, errRunning
	}
	rt, err := foliot.New(foliot.Options{Clock: s.opts.Clock, Workers: 1})
	if err != nil {
		return nil, fmt.Errorf("durable: %w", err)
	}
	_, manual := s.opts.Clock.(*foliot.ManualClock)
	r := &run{
		s: s, rt: rt, manual: manual,
		unhandled: make(map[string]bool),
		horizon:   never,
		loading:   true,
		wakeAt:    never,
		failure:   make(chan struct{}),
		nudge:     make(chan struct{}, 1),
	}
	r.seen, r.seenWall = time.Now(), s.wall().UnixNano()
	if s.opts.Late == LateSkip {
		r.skip = s.wall().Add(-s.opts.LateAfter)
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	if r.timer, err = rt.NewTimer(r.pass); err != nil {
		return nil, fmt.Errorf("durable: %w", err)
	}
	s.run, s.loaded = r, false
	return r, nil
}

// end ends the run: it waits for the handlers.
func (r *run) end() error {
	r.mu.Lock()
	r.ending = true
	r.timer.Stop()
	failed := r.failed
	r.mu.Unlock() // a pass that runs has reserved the places of what it starts, which count in handlers

	if failed != nil {
		r.cancel()
	}
	idle := make(chan struct{})
	go func() {
		r.handlers.Wait()
		close(idle)
	}()
	drain := r.s.opts.Drain
	notice := time.AfterFunc(drain-min(drain/10, time.Second), r.cancel)
	defer notice.Stop()
	limit := time.NewTimer(drain)
	defer limit.Stop()
	var err error
	select {
	case <-idle:
	case <-limit.C:
		r.mu.Lock()
		err = fmt.Errorf("durable: %d handlers are still running %v after Run was told to end; they are not waited for, and will be called again if the process ends before they do", r.busy, drain)
		r.mu.Unlock()
	}
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.failed, err)
}

// close releases what begin has made.
func (r *run) close() {
	r.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	_, _ = r.rt.Shutdown(ctx) // it waits for a pass, which may wait for a store that has failed
	r.s.mu.Lock()
	r.s.run = nil
	r.s.mu.Unlock()
}

// Wake makes a pass look at a timer at a time.
func (r *run) Wake(w Wake) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.unhandled, w.ID)
	if w.At >= r.horizon {
		r.index.remove(w.ID)
		return
	}
	r.index.set(w.ID, w.At)
	r.arm(w.At)
	if r.index.len() > 2*loadMax && !r.loading && !r.manual && !r.ending {
		r.loading = true
		r.loads.Go(r.shrink)
	}
}

// Gone removes a timer from memory.
func (r *run) Gone(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.unhandled, id)
	r.index.remove(id)
}

// Failed ends the run with an error.
func (r *run) Failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil && err != nil {
		r.failed = err
		close(r.failure)
	}
}

// Handles reports whether there is a handler of a kind.
func (r *run) Handles(kind string) bool { return r.s.handlers[kind] != nil }

// HasNext reports whether there is a NextFunc of a kind.
func (r *run) HasNext(kind string) bool { return r.s.nexts[kind] != nil }

// arm makes sure that a pass begins at a time or before. The caller holds mu.
//
// The timer of the runtime counts a duration, which a step of the wall clock does not change. So it is
// never armed for longer than stepCheck: a step is noticed by then. The pass begins before the time, by as
// much as timers are decided ahead.
func (r *run) arm(at int64) {
	if at >= r.wakeAt || r.ending {
		return
	}
	r.wakeAt = at
	if r.manual {
		r.timer.ResetAt(time.Unix(0, at)) // not a duration: the clock may move meanwhile
		return
	}
	d := time.Unix(0, at).Sub(r.s.wall()) // it does not overflow
	r.timer.Reset(min(max(d-r.ahead.by(), 0), stepCheck))
}

// loadFrom brings timers that are due at a time or later into memory, until there are loadMax.
//
// While it reads, the horizon is infinite. So a timer that is scheduled meanwhile goes into the index
// whether or not the store yields it here.
func (r *run) loadFrom(ctx context.Context, from time.Time) {
	log := r.s.opts.Logger
	r.mu.Lock()
	r.horizon = never
	r.mu.Unlock()
	begin, noted, n := time.Now(), time.Now(), 0
	horizon := never
	// A load brings in some timers also if others have filled the memory meanwhile. Those that are being
	// handled may be among them, and are not enough.
	least := max(loadFirst, 2*r.s.opts.Concurrency)
	for w, err := range r.s.store.Waiting(from) {
		if err != nil {
			r.Failed(err)
			return
		}
		r.mu.Lock()
		isNew := !r.index.has(w.ID) && !r.unhandled[w.ID]
		if isNew {
			r.index.set(w.ID, w.At)
			r.arm(w.At)
			n++
		}
		full := n >= least && r.index.len() >= loadMax && !r.manual && w.At > math.MinInt64
		end := r.ending || ctx.Err() != nil
		r.mu.Unlock()
		if isNew && n == loadFirst {
			r.pass()
		}
		if end {
			return
		}
		if full {
			horizon = w.At
			break
		}
		if time.Since(noted) > 2*time.Second {
			noted = time.Now()
			log.Info("durable: loading timers", "loaded", n, "pending", r.s.store.Counts().Pending, "took", time.Since(begin).Round(time.Millisecond))
		}
	}
	r.mu.Lock()
	r.horizon = horizon
	r.loading = false
	r.mu.Unlock()
	r.s.mu.Lock()
	r.s.loaded = true
	r.s.mu.Unlock()
	r.pass()
}

// shrink removes the timers that are due last from memory.
//
// The index rounds up to a microsecond. So what it has at a microsecond or later may be due up to 999 ns
// before, and all of it must be due at the horizon or later: the next load begins there. The horizon never
// moves forward here: between it and the last timers in memory there may be others that were not loaded.
// What must be looked at at once, because a process has ended, is before firstAt and stays.
func (r *run) shrink() {
	r.mu.Lock()
	from := max(r.index.quantile(0.5), firstAt.UnixNano())
	if r.horizon <= from-999 {
		from = r.horizon + 999
	} else {
		r.horizon = from - 999
	}
	r.index.cutFrom(from, func() {
		r.mu.Unlock()
		r.mu.Lock()
	})
	r.loading = false
	r.mu.Unlock()
	r.pass()
}

// loadMore starts a load if memory has few timers and the store may have more, or if the horizon has come
// and nothing else is due. The caller holds mu.
func (r *run) loadMore(now int64) {
	if r.horizon == never || r.loading || r.ending {
		return
	}
	next, ok := r.index.next()
	if r.index.len() < loadMax/2 || now >= r.horizon && (!ok || next > now) {
		r.loading = true
		from := time.Unix(0, r.horizon)
		r.loads.Go(func() { r.loadFrom(r.ctx, from) })
	}
}
