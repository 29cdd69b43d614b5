package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/local"
)

// durableCallers is how many goroutines schedule and cancel at the same time.
const durableCallers = 64

// A durableStore keeps timers that outlive the process, in a folder. A timer is given by its ID, its deadline and a
// payload of orderPayload bytes.
type durableStore interface {
	// schedule returns when the timer is kept, as the store keeps things.
	schedule(id string, at time.Time) error

	// fill schedules the timers with numbers from from to to-1 as fast as the store can. Their IDs are those of orderID.
	fill(from, to int, at func(i int) time.Time) error

	// cancel returns an error if there is no such timer.
	cancel(id string) error

	// run calls fired for each timer that is due, with its deadline, on any goroutine. After stop has returned, there are
	// no more calls.
	run(fired func(at time.Time)) (stop func() error, err error)

	close() error
}

// A durableOpener opens a store in a folder.
type durableOpener func(dir string) (durableStore, error)

// durableOpeners are the stores, by contender. Bare Pebble writes one key with as many bytes in each commit, and fires
// nothing: it is the floor.
var durableOpeners = map[string]durableOpener{
	"durable":        func(dir string) (durableStore, error) { return openLocal(dir, local.Options{}) },
	"durable-nosync": func(dir string) (durableStore, error) { return openLocal(dir, local.Options{NoSync: true}) },
	"pebble":         openPebble,
}

// A durableFolder is the folder of a contender, with its open store.
type durableFolder struct {
	durableStore // nil: it is closed
	open         durableOpener
	dir          string
	next         int // the number of the next timer that has not been scheduled
}

// durableFolders opens the stores of some contenders, below the folder for temporary files. done removes them.
func (r *run) durableFolders(names ...string) (all []*entrant[*durableFolder], done func()) {
	var makers []maker[*durableFolder]
	for _, name := range names {
		makers = append(makers, maker[*durableFolder]{name, func() (*durableFolder, error) {
			dir, err := os.MkdirTemp("", "foliot-bench-")
			if err != nil {
				return nil, err
			}
			f := &durableFolder{open: durableOpeners[name], dir: dir}
			if err := f.reopen(); err != nil {
				return nil, errors.Join(err, os.RemoveAll(dir))
			}
			return f, nil
		}})
	}
	all = enter(r, makers)
	return all, func() {
		for _, e := range all {
			if err := e.it.shut(); err != nil {
				r.note(r.scenario+"/"+e.name, err)
			}
			_ = os.RemoveAll(e.it.dir)
		}
	}
}

// reopen opens the store, which is closed.
func (f *durableFolder) reopen() (err error) {
	st, err := f.open(f.dir)
	if err == nil {
		f.durableStore = st
	}
	return err
}

// shut closes the store, unless it is closed.
func (f *durableFolder) shut() error {
	if f.durableStore == nil {
		return nil
	}
	err := f.close()
	f.durableStore = nil
	return err
}

// durableTimers measures timers that survive a crash.
func durableTimers(r *run) error {
	if r.measures("durable-schedule", "durable-cancel") {
		if err := durableSchedule(r); err != nil {
			return err
		}
	}
	if r.measures("durable-late") {
		all, done := r.durableFolders("durable", "durable-nosync")
		for _, rate := range []int{200, 10_000} {
			turns(r, r.few(pick(r, 2, 3)), all, func(_ int, e *entrant[*durableFolder]) ([]result, error) {
				late, err := e.it.fireAt(r, rate)
				return []result{{"durable-late", "rate=" + strconv.Itoa(rate), len(late), lateness(late)}}, err
			})
		}
		done()
	}
	if r.measures("durable-open", "durable-memory") {
		all, done := r.durableFolders("pebble", "durable")
		defer done()
		for _, e := range all {
			if err := e.it.fill(0, r.n-1, inHours); err != nil {
				return err
			}
		}
		turns(r, r.few(pick(r, 2, 4)), all, func(_ int, e *entrant[*durableFolder]) ([]result, error) { return e.it.openTurn(e.name, r.n) })
	}
	return nil
}

// durableSchedule measures how many timers are scheduled and cancelled in a second. All of them are due in an hour, and
// the stores look for timers that are due meanwhile.
func durableSchedule(r *run) (err error) {
	all, done := r.durableFolders("pebble", "durable", "durable-nosync")
	defer done()
	for _, e := range all {
		stop, failed := e.it.run(func(time.Time) {})
		if failed != nil {
			return fmt.Errorf("%s: %w", e.name, failed)
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	turns(r, r.rounds, all, func(_ int, e *entrant[*durableFolder]) ([]result, error) {
		at, first := time.Now().Add(time.Hour), e.it.next
		n, scheduled, err := callRate(durableCallers, pick(r, 50*time.Millisecond, 300*time.Millisecond), r.n, func(i int) error {
			return e.it.schedule(orderID(first+i), at)
		})
		e.it.next += n
		if err != nil {
			return nil, err
		}
		_, cancelled, err := callRate(durableCallers, time.Minute, n, func(i int) error { return e.it.cancel(orderID(first + i)) })
		return []result{{"durable-schedule", "", n, []value{{scheduled, "op/s"}}}, {"durable-cancel", "", n, []value{{cancelled, "op/s"}}}}, err
	})
	return nil
}

// callRate calls do with the numbers from 0 on, in some goroutines, until the time or the numbers are used up. It returns
// how many calls there were, and how many in a second.
func callRate(goroutines int, length time.Duration, limit int, do func(i int) error) (calls int, rate float64, err error) {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var callers sync.WaitGroup
	began := time.Now()
	for range goroutines {
		callers.Go(func() {
			for time.Since(began) < length && failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= limit {
					return
				}
				if err := do(i); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	callers.Wait()
	took := time.Since(began)
	if err := failed.Load(); err != nil {
		return 0, 0, *err
	}
	calls = min(int(next.Load()), limit)
	return calls, float64(calls) / took.Seconds(), nil
}

// fireAt schedules timers that come due at a rate, and waits until they have fired.
func (f *durableFolder) fireAt(r *run, rate int) (all []time.Duration, err error) {
	window := pick(r, 250*time.Millisecond, 2*time.Second)
	n := min(int(window.Seconds()*float64(rate)), r.n)
	var mu sync.Mutex
	fired := make(chan struct{})
	stop, err := f.run(func(at time.Time) {
		late := time.Since(at)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, late)
		if len(all) == n {
			close(fired)
		}
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()

	// Some timers that stay pending show how long it takes to schedule the others.
	few := n/10 + 1
	began := time.Now()
	if err := f.fill(f.next, f.next+few, func(int) time.Time { return began.Add(time.Hour) }); err != nil {
		return nil, err
	}
	f.next += few
	lead := 15*time.Since(began) + 20*time.Millisecond
	first, begin := f.next, time.Now().Add(lead)
	err = f.fill(first, first+n, func(i int) time.Time { return begin.Add(time.Duration(i-first) * time.Second / time.Duration(rate)) })
	f.next += n
	if err != nil {
		return nil, err
	}
	select {
	case <-fired:
		return all, nil
	case <-r.ctx.Done():
		return nil, r.ctx.Err()
	case <-time.After(lead + window + time.Minute):
		mu.Lock()
		defer mu.Unlock()
		return nil, fmt.Errorf("%d of %d timers have fired a minute after the last deadline", len(all), n)
	}
}

// inHours returns a deadline one to two hours ahead.
func inHours(int) time.Time { return time.Now().Add(time.Hour + rand.N(time.Hour)) }

// openTurn closes the store and opens it again, with one timer that is due. The heap is that of the store when it has
// loaded what it loads.
func (f *durableFolder) openTurn(contender string, n int) ([]result, error) {
	if err := errors.Join(f.schedule(orderID(n-1), time.Now()), f.shut()); err != nil {
		return nil, err
	}
	waitForSteadyHeap()
	before := heapBytes()
	took, stop, err := f.openUntilFired()
	if err != nil {
		return nil, err
	}
	err = f.waitLoaded(n - 1)
	results := []result{{"durable-open", count(n), 1, []value{{float64(took), "ns"}}}}
	if contender == "durable" { // Pebble has its caches outside of the heap of Go
		results = append(results, result{"durable-memory", count(n), n, []value{{float64(max(heapBytes()-before, 1)) / float64(n), "B/timer"}}})
	}
	return results, errors.Join(err, stop())
}

// openUntilFired opens the store, which is closed and has a timer that is due. It returns how long that took until the timer
// fired, and what ends the firing.
func (f *durableFolder) openUntilFired() (took time.Duration, stop func() error, err error) {
	began := time.Now()
	if err := f.reopen(); err != nil {
		return 0, nil, err
	}
	fired := make(chan time.Duration, 1)
	stop, err = f.run(func(time.Time) { fired <- time.Since(began) })
	if err != nil {
		return 0, nil, err
	}
	select {
	case took = <-fired:
		return took, stop, nil
	case <-time.After(time.Minute):
		return 0, nil, errors.Join(errors.New("no timer has fired a minute after opening"), stop())
	}
}

// waitLoaded waits until n timers are in memory, for a store that loads them.
func (f *durableFolder) waitLoaded(n int) error {
	l, ok := f.durableStore.(*localStore)
	if !ok {
		return nil
	}
	for began := time.Now(); l.loaded() < n; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			return fmt.Errorf("%d of %d timers are in memory after a minute", l.loaded(), n)
		}
	}
	return nil
}

const (
	orderKind    = "order"
	orderPayload = 64
)

// orderID returns the ID of a timer: 16 bytes.
func orderID(i int) string {
	b := append(make([]byte, 0, 16), "order-0000000000"...)
	for at := len(b) - 1; i > 0; i /= 10 {
		b[at] += byte(i % 10)
		at--
	}
	return string(b)
}

// A localStore is a Scheduler of Foliot on a folder.
type localStore struct {
	store     *local.Store
	scheduler *durable.Scheduler
	fired     func(at time.Time) // set before Run
	payload   []byte
}

func openLocal(dir string, o local.Options) (durableStore, error) {
	st, err := local.Open(dir, o)
	if err != nil {
		return nil, err
	}
	s, err := durable.New(st, durable.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	l := &localStore{store: st, scheduler: s, payload: make([]byte, orderPayload)}
	s.Handle(orderKind, func(_ context.Context, f durable.Fire) error {
		l.fired(f.At)
		return nil
	})
	return l, nil
}

func (l *localStore) timer(id string, at time.Time) durable.Timer {
	return durable.Timer{ID: id, At: at, Kind: orderKind, Payload: l.payload}
}

func (l *localStore) schedule(id string, at time.Time) error {
	_, err := l.scheduler.Schedule(context.Background(), l.timer(id, at))
	return err
}

func (l *localStore) fill(from, to int, at func(i int) time.Time) error {
	var batch []durable.Timer
	for i := from; i < to; i++ {
		batch = append(batch, l.timer(orderID(i), at(i)))
		if len(batch) == fillBatch || i == to-1 {
			if _, err := l.scheduler.ScheduleBatch(context.Background(), batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return nil
}

func (l *localStore) cancel(id string) error {
	ok, err := l.scheduler.Cancel(context.Background(), id)
	if err == nil && !ok {
		err = errNoTimer
	}
	return err
}

func (l *localStore) run(fired func(at time.Time)) (func() error, error) {
	l.fired = fired
	return runScheduler(l.scheduler), nil
}

// runScheduler starts Run of a scheduler. stop ends it and returns its error.
func runScheduler(s *durable.Scheduler) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

// loaded returns how many timers are in memory.
func (l *localStore) loaded() int { return l.scheduler.Stats().Loaded }

func (l *localStore) close() error { return l.store.Close() }

// fillBatch is how many timers a fill schedules in one commit, where the store can do that.
const fillBatch = 1000

var errNoTimer = errors.New("there is no such timer")

// A pebbleStore writes keys. It has the sizes that Foliot's store gives to Pebble.
type pebbleStore struct {
	db    *pebble.DB
	value []byte
}

func openPebble(dir string) (durableStore, error) {
	db, err := pebble.Open(dir, &pebble.Options{
		Logger:                      silentPebble{},
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                32 << 20,
		CacheSize:                   64 << 20,
		MemTableStopWritesThreshold: 1 << 10,
		L0StopWritesThreshold:       1 << 20,
	})
	if err != nil {
		return nil, err
	}
	// A timer of Foliot is a record, whose key is a byte and the ID, and a key of an index, which is nine bytes and the
	// ID. The record has about 24 bytes besides the payload.
	return &pebbleStore{db, make([]byte, 24+orderPayload+9+len(orderID(0)))}, nil
}

func (p *pebbleStore) key(id string) []byte {
	return append(append(make([]byte, 0, 1+len(id)), 'r'), id...)
}

func (p *pebbleStore) schedule(id string, _ time.Time) error {
	return p.db.Set(p.key(id), p.value, pebble.Sync)
}

func (p *pebbleStore) fill(from, to int, _ func(i int) time.Time) error {
	for ; from < to; from += fillBatch {
		b := p.db.NewBatch()
		for i := from; i < min(from+fillBatch, to); i++ {
			if err := b.Set(p.key(orderID(i)), p.value, nil); err != nil {
				return err
			}
		}
		if err := b.Commit(pebble.Sync); err != nil {
			return err
		}
	}
	return nil
}

func (p *pebbleStore) cancel(id string) error { return p.db.Delete(p.key(id), pebble.Sync) }

// run reads all keys, and calls fired once if there are any.
func (p *pebbleStore) run(fired func(at time.Time)) (func() error, error) {
	it, err := p.db.NewIter(nil)
	if err != nil {
		return nil, err
	}
	n := 0
	for it.First(); it.Valid(); it.Next() {
		n += len(it.Value())
	}
	if n > 0 {
		fired(time.Now())
	}
	return func() error { return nil }, it.Close()
}

func (p *pebbleStore) close() error { return p.db.Close() }

// silentPebble is a logger that logs nothing.
type silentPebble struct{}

func (silentPebble) Infof(string, ...any)           {}
func (silentPebble) Errorf(string, ...any)          {}
func (silentPebble) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }
