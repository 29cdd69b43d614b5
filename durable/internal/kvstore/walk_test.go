package kvstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/linear"
	"github.com/foliot-go/foliot/internal/interleave"
)

// A walk takes a real Scheduler and a real Store on a Memory through all interleavings of a scenario.
//
// Actors call the Scheduler. They stop before each call. The committer of the store stops before each
// sync, and handlers stop before they return. Between these points everything that is decided about a
// timer is decided under the lock of its stripe, so there is nothing to interleave. All goroutines are in
// a synctest bubble: when all of them have stopped, the walk lets one go on, moves the clock to the next
// deadline, or crashes the store.
type scenario struct {
	before  string              // calls that have returned before the walk begins
	actors  []interleave.Script // a letter for each call, see world.call
	results string              // of handlers, in the order of their ends: d: done, e: ends the series, f: failed, p: postponed; then d
	clock   int                 // how often the clock moves by a second
	crashes int
	small   bool // the cache is not complete
}

func (c scenario) String() string {
	return fmt.Sprintf("before %q, actors %q, results %q, %d seconds, %d crashes, small cache %t",
		c.before, c.actors, c.results, c.clock, c.crashes, c.small)
}

// A world is one path of a walk.
type world struct {
	*testing.T
	c     scenario
	fault fault

	engine *Memory
	store  *Store
	s      *durable.Scheduler
	stop   context.CancelFunc
	steps  []string // what has happened, for a message

	mu      sync.Mutex
	free    bool // nothing stops any more
	life    int  // counts crashes
	time    int64
	stopped []*stopped
	pending map[*pending]bool   // calls of this life that have not returned
	looked  map[string]int64    // by Key: when the firing of the last attempt was decided, or before
	ends    map[string]*pending // by Key: the end of the last attempt
	ended   int                 // handlers that were let go on
	history linear.History
}

// stopped is a goroutine that has stopped.
type stopped struct {
	name   string
	life   int
	resume chan struct{}
}

// pending is an operation without a result.
type pending struct {
	call linear.Call
	from int64
}

const walkID = "x"

var errWalk = errors.New("the handler fails")

// open opens the store and starts Run.
func (w *world) open(e *Memory) {
	life := w.life
	store, err := Open(e)
	if err != nil {
		w.Fatal(err)
	}
	e.Sync = func(b *Batch) error {
		if len(b.Ops) > 0 {
			w.stopAt("sync", life)
		}
		return nil
	}
	w.engine, w.store = e, store
	w.s, err = durable.New(w.fault.plant(spy{store, w, life}), durable.Options{
		Retry:  durable.Retry{Min: time.Second, Max: time.Second, Attempts: -1},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		w.Fatal(err)
	}
	w.s.Handle("k", func(_ context.Context, f durable.Fire) error { return w.handle(f, life) })
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	s := w.s
	go func() { _ = s.Run(ctx) }()
	synctest.Wait()
}

func (w *world) setFree(free bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.free = free
}

// stopAt stops the goroutine until the walk lets it go on.
func (w *world) stopAt(name string, life int) {
	w.mu.Lock()
	if w.free || life != w.life {
		w.mu.Unlock()
		return
	}
	p := &stopped{name, life, make(chan struct{})}
	w.stopped = append(w.stopped, p)
	w.mu.Unlock()
	<-p.resume
}

// now returns the next time of the history. The caller holds mu.
func (w *world) now() int64 {
	w.time++
	return w.time
}

// handle is the handler.
func (w *world) handle(f durable.Fire, life int) error {
	w.mu.Lock()
	if life != w.life {
		w.mu.Unlock()
		return errWalk
	}
	w.history.Add(linear.Call{Op: linear.Fire, Rev: f.Rev, Attempt: f.Attempt}, w.looked[f.Key()], linear.Result{}, w.now())
	w.mu.Unlock()
	w.stopAt("handler "+f.Key(), life)
	w.mu.Lock()
	defer w.mu.Unlock()
	if life != w.life {
		return errWalk
	}
	end := &pending{linear.Call{Op: linear.Done, Rev: f.Rev}, w.now()}
	var err error
	if w.ended < len(w.c.results) {
		switch w.c.results[w.ended] {
		case 'e':
			end.call.Op, err = linear.End, durable.EndSeries
		case 'f':
			end.call.Op, err = linear.Fail, errWalk
		case 'p':
			end.call.Op, err = linear.Postpone, durable.Postpone(errWalk, time.Second)
		}
	}
	w.ended++
	w.pending[end] = true
	w.ends[f.Key()] = end
	return err
}

// spy is a store that tells a world when a firing is decided, and when the end of an attempt is kept.
type spy struct {
	*Store
	w    *world
	life int
}

func (s spy) Fire(ids []string, r durable.Rules) (durable.Fired, error) {
	s.w.mu.Lock()
	from := s.w.now()
	s.w.mu.Unlock()
	fired, err := s.Store.Fire(ids, r)
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for _, f := range fired.Fires {
		s.w.looked[f.Key()] = from
	}
	return fired, err
}

func (s spy) Finish(f durable.Fire, end durable.End) (bool, func() error, error) {
	ok, wait, err := s.Store.Finish(f, end)
	if err != nil {
		return ok, wait, err
	}
	return ok, func() error {
		err := wait()
		s.w.mu.Lock()
		defer s.w.mu.Unlock()
		if p := s.w.ends[f.Key()]; err == nil && s.life == s.w.life && p != nil {
			s.w.finish(p, linear.Result{})
		}
		return err
	}, nil
}

// finish adds an operation with its result. The caller holds mu.
func (w *world) finish(p *pending, r linear.Result) {
	if w.pending[p] {
		delete(w.pending, p)
		w.history.Add(p.call, p.from, r, w.now())
	}
}

// crash ends the process. keep is how many changes are kept that are not synced.
func (w *world) crash(keep int) {
	w.mu.Lock()
	w.engine.Crash(keep)
	w.history.Add(linear.Call{Op: linear.Hidden}, 0, linear.Result{}, w.now())
	for p := range w.pending {
		p.call.Lost = true
		w.finish(p, linear.Result{})
	}
	at := w.now()
	w.history.Add(linear.Call{Op: linear.Crash}, at, linear.Result{}, w.now())
	w.life++
	old := w.stopped
	w.stopped = nil
	for _, p := range old { // actors go on in the next life
		if strings.HasPrefix(p.name, "actor") {
			p.life = w.life
			w.stopped = append(w.stopped, p)
		} else {
			close(p.resume)
		}
	}
	w.mu.Unlock()
	w.store.Fail(ErrCrashed)
	w.stop()
	synctest.Wait()
	_ = w.store.Close()
	w.open(w.engine.Reopen())
}

// step does one step of a path. It returns false at its end.
func (w *world) step(p *interleave.Paths, clock, crashes *int) bool {
	synctest.Wait()
	w.mu.Lock()
	slices.SortStableFunc(w.stopped, func(a, b *stopped) int { return strings.Compare(a.name, b.name) })
	choices := []string{}
	for _, s := range w.stopped {
		choices = append(choices, s.name)
	}
	busy := len(choices) > 0 || *clock > 0
	if *clock > 0 {
		choices = append(choices, "clock")
	}
	if *crashes > 0 {
		choices = append(choices, "crash")
		if w.engine.Open() > 0 {
			choices = append(choices, "crash that keeps")
		}
	}
	if !busy {
		choices = append(choices, "end")
	}
	w.mu.Unlock()
	k := 0
	if len(choices) > 1 {
		k = p.Pick(len(choices))
	}
	w.steps = append(w.steps, choices[k])
	switch choices[k] {
	case "end":
		return false
	case "clock":
		*clock--
		time.Sleep(time.Second)
	case "crash", "crash that keeps":
		*crashes--
		w.crash(len(choices[k]) / len("crash that keeps"))
	default:
		w.mu.Lock()
		s := w.stopped[k]
		w.stopped = slices.Delete(w.stopped, k, k+1)
		w.mu.Unlock()
		close(s.resume)
	}
	return true
}

// path walks one path and returns an error if the outcome is wrong.
func (c scenario) path(t *testing.T, p *interleave.Paths, f fault) (err error) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			T: t, c: c, fault: f, free: true,
			pending: map[*pending]bool{}, looked: map[string]int64{}, ends: map[string]*pending{},
		}
		e := NewMemory()
		if c.small {
			e = w.shrink(e)
			defer func(n int) { cacheMax = n }(cacheMax)
			cacheMax = 0
		}
		w.open(e)
		rev := uint64(0)
		for i := range len(c.before) {
			rev = w.call(c.before[i], rev)
		}
		synctest.Wait()
		w.setFree(false)
		for i := range c.actors {
			go w.actor(i, rev)
		}
		clock, crashes := c.clock, c.crashes
		for w.step(p, &clock, &crashes) {
		}
		err = w.finalState()
	})
	return err
}

// shrink returns an engine with a timer, so that a cache that has room for none is not complete.
func (w *world) shrink(e *Memory) *Memory {
	s, err := Open(e)
	if err == nil {
		_, err = s.Schedule(context.Background(), []durable.Timer{{ID: "other", At: time.Now().Add(time.Hour), Kind: "k"}}, durable.Condition{})
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		w.Fatal(err)
	}
	return e.Reopen()
}

// finalState lets everything end, and checks the history.
func (w *world) finalState() error {
	w.setFree(true)
	for range 4 {
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
	}
	w.call('g', 0)
	t, there, _ := w.s.Get(context.Background(), walkID)
	w.call('c', 0) // ends a series
	w.call('g', 0)
	synctest.Wait()
	w.stop()
	synctest.Wait()
	_ = w.store.Close()
	if there && (t.Every == 0 || !t.At.After(time.Now())) {
		return fmt.Errorf("timer %+v has no outcome after %q", t, w.steps)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.pending { // its end is decided, and changes nothing
		w.history.Add(p.call, p.from, linear.Result{}, linear.Later)
	}
	if _, err := w.history.Check(time.Minute); err != nil {
		return fmt.Errorf("after %q %w", w.steps, err)
	}
	return nil
}

// walk walks all paths of a scenario, or each of them until one is wrong.
func (c scenario) walk(t *testing.T, f fault) (paths int, err error) {
	p := &interleave.Paths{}
	for {
		if err := c.path(t, p, f); err != nil {
			return p.Count, fmt.Errorf("%v: %w", c, err)
		}
		if !p.Next() {
			return p.Count, nil
		}
	}
}
