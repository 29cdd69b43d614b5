package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// stressTests make random calls from many goroutines, as long as the environment variable FOLIOT_STRESS
// says, or for a moment.
var stressTests = []test{
	{name: "Random calls, with Runs that end, and reopening", run: func(k *kit) { stress(k, false) }},
	{name: "Random calls, with Runs that end, and crashes", run: func(k *kit) { stress(k, true) }, needs: needsCrash},
}

const (
	stressWorkers  = 6
	stressAttempts = 3
	stressPhase    = 60 * time.Millisecond // between two ends of Run
	stressShared   = 12                    // IDs that all workers use
)

// stressTime returns how long a test makes random calls: the duration in FOLIOT_STRESS, or short if that is
// not set.
func stressTime(t *testing.T, short time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv("FOLIOT_STRESS")
	if text == "" {
		return short
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("FOLIOT_STRESS: %v", err)
	}
	return d
}

// randomPause yields or sleeps for a moment now and then, so that not everything happens under full load.
func randomPause() {
	switch n := rand.IntN(64); {
	case n == 0:
		time.Sleep(rand.N(4 * time.Millisecond))
	case n < 8:
		time.Sleep(rand.N(300 * time.Microsecond))
	case n < 12:
		runtime.Gosched()
	}
}

// stress alternates between random calls and ends of the store, and checks the ledger.
func stress(k *kit, crashes bool) {
	l := &ledger{kit: k, keys: map[string]*occurrence{}, solo: map[string]*soloTimer{}}
	k.handlers[kind] = l.handler(0)
	k.with(func(o *durable.Options) {
		o.Clock = nil
		o.Concurrency = 8
		o.Retry = durable.Retry{Min: time.Millisecond, Max: 3 * time.Millisecond, Attempts: stressAttempts}
	})
	end := time.Now().Add(stressTime(k.T, 400*time.Millisecond))
	for phase := 0; time.Now().Before(end); phase++ {
		k.run()
		var stop atomic.Bool
		var wg sync.WaitGroup
		for n := range stressWorkers {
			wg.Go(func() { l.work(&stop, rand.New(rand.NewPCG(uint64(phase), uint64(n)))) })
		}
		time.Sleep(stressPhase)
		switch {
		case crashes && phase%2 == 0:
			l.crash(func() {
				k.crash()
				stop.Store(true)
				wg.Wait()
			})
		case phase%3 == 0:
			k.mustStop() // the workers go on without a Run
			k.run()
			fallthrough
		default:
			stop.Store(true)
			wg.Wait()
			k.reopen()
		}
	}
	k.run()
	k.eventually("all timers have an outcome", func() bool {
		ids := k.list(durable.Query{})
		for _, id := range ids {
			if !strings.HasPrefix(id, "solo") {
				k.cancelIfThere(id)
			}
		}
		return len(ids) == 0
	})
	k.mustStop()
	l.check()
}

// A ledger keeps the books of what was acknowledged and of what handlers have seen.
type ledger struct {
	*kit
	mu   sync.Mutex
	life int                    // counts crashes
	keys map[string]*occurrence // by Key
	solo map[string]*soloTimer  // by ID
	next int                    // for IDs
}

// An occurrence is what the ledger knows of a Key.
type occurrence struct {
	attempt   int
	life      int  // of the last attempt
	running   bool // in that life
	over      bool // done or dropped, in that life
	failed    bool // an attempt has failed, or was cut off
	cancelled bool // Cancel with IfRev of this revision was true
}

// A soloTimer has an ID that one worker schedules once.
type soloTimer struct {
	cancelled bool // Cancel has returned true
	unsure    bool // a call has returned an error
	ends      int  // how often it was done, dropped or dead
	failed    bool // an attempt has failed, or was cut off
	started   bool
	lives     map[int]bool // in which it ended
}

// crash calls f, which crashes the store. Handlers that run are cut off.
func (l *ledger) crash(f func()) {
	l.handlers[kind] = l.handler(l.life + 1)
	f()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.life++
	for _, o := range l.keys {
		if o.running {
			o.running, o.failed = false, true
		}
	}
}

// begin books the begin of an attempt in a life. It returns false if the process should have ended.
func (l *ledger) begin(f durable.Fire, life int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if life != l.life {
		return false
	}
	o := l.keys[f.Key()]
	if o == nil {
		o = &occurrence{}
		l.keys[f.Key()] = o
	}
	switch {
	case f.Attempt <= o.attempt:
		l.Errorf("%s: attempt %d comes after attempt %d", f.Key(), f.Attempt, o.attempt)
	case o.life == l.life && o.attempt > 0 && f.Attempt != o.attempt+1:
		l.Errorf("%s: attempt %d comes after attempt %d", f.Key(), f.Attempt, o.attempt)
	case o.running && l.c.OneNode:
		l.Errorf("%s: attempts %d and %d overlap", f.Key(), o.attempt, f.Attempt)
	case o.over && o.life == l.life:
		l.Errorf("%s: attempt %d comes after it was done", f.Key(), f.Attempt)
	case o.cancelled:
		l.Errorf("%s: attempt %d comes after Cancel was true", f.Key(), f.Attempt)
	case time.Now().Round(0).Before(f.At):
		l.Errorf("%s: attempt %d comes early", f.Key(), f.Attempt)
	case string(f.Payload) != f.ID:
		l.Errorf("%s: the payload is %q", f.Key(), f.Payload)
	}
	if f.Attempt > 1 {
		o.failed = true // an earlier one may have been cut off before its handler was called
	}
	o.attempt, o.life, o.running, o.over = f.Attempt, l.life, true, false
	if s := l.solo[f.ID]; s != nil {
		s.started = true
		s.failed = s.failed || f.Attempt > 1
		if s.cancelled {
			l.Errorf("%s: attempt %d comes after Cancel was true", f.Key(), f.Attempt)
		}
	}
	return true
}

// end books the end of an attempt.
func (l *ledger) end(f durable.Fire, life int, failed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o, s := l.keys[f.Key()], l.solo[f.ID]
	if life != l.life {
		return // the process that called the handler has ended
	}
	o.running, o.over = false, !failed
	o.failed = o.failed || failed
	if s == nil {
		return
	}
	s.failed = s.failed || failed
	if !failed || f.Attempt >= stressAttempts {
		if s.lives[life] {
			l.Errorf("%s: it has two outcomes", f.Key())
		}
		s.lives[life] = true
		s.ends++
	}
}

// handler returns the handler of a life.
func (l *ledger) handler(life int) durable.Handler {
	return func(ctx context.Context, f durable.Fire) error { return l.handle(ctx, f, life) }
}

// handle fails in all ways.
func (l *ledger) handle(ctx context.Context, f durable.Fire, life int) error {
	if !l.begin(f, life) {
		return errHandler
	}
	failed := true
	defer func() { l.end(f, life, failed) }()
	switch rand.IntN(12) {
	case 0:
		return errHandler
	case 1:
		panic("the handler of the stress test panics")
	case 2:
		runtime.Goexit()
	case 3:
		failed = false
		return durable.Drop
	case 4:
		select {
		case <-time.After(3 * time.Millisecond):
		case <-ctx.Done():
		}
	case 5:
		randomPause()
	}
	failed = false
	return nil
}

// work makes random calls until stop is set or the store fails.
func (l *ledger) work(stop *atomic.Bool, r *rand.Rand) {
	s := l.s
	revs := map[string]uint64{}
	for !stop.Load() {
		randomPause()
		var err error
		if r.IntN(3) == 0 {
			err = l.workSolo(s, r)
		} else {
			err = l.workShared(s, r, revs)
		}
		if err != nil {
			return
		}
	}
}

// workSolo schedules a timer under its own ID, and may cancel it about when it is due.
func (l *ledger) workSolo(s *durable.Scheduler, r *rand.Rand) error {
	t := &soloTimer{lives: map[int]bool{}}
	l.mu.Lock()
	l.next++
	id := fmt.Sprint("solo", l.next)
	l.solo[id] = t
	l.mu.Unlock()
	in := time.Duration(r.IntN(6)-1) * time.Millisecond
	_, err := s.Schedule(context.Background(), durable.Timer{ID: id, At: time.Now().Add(in), Kind: kind, Payload: []byte(id)}, durable.IfAbsent())
	l.mu.Lock()
	t.unsure = err != nil
	l.mu.Unlock()
	if err != nil || r.IntN(2) == 0 {
		return err
	}
	time.Sleep(in + time.Duration(r.IntN(400)-200)*time.Microsecond)
	ok, err := s.Cancel(context.Background(), id)
	l.mu.Lock()
	defer l.mu.Unlock()
	t.cancelled, t.unsure = ok, err != nil
	if ok && t.started && !t.failed {
		l.Errorf("%s: Cancel is true, and an attempt has started that did not fail", id)
	}
	return err
}

// workShared makes a call for an ID that others use, too. revs are the revisions that the worker knows.
func (l *ledger) workShared(s *durable.Scheduler, r *rand.Rand, revs map[string]uint64) error {
	ctx := context.Background()
	id := fmt.Sprint("shared", r.IntN(stressShared))
	timer := func(id string) durable.Timer {
		t := durable.Timer{ID: id, At: time.Now().Add(time.Duration(r.IntN(6)-1) * time.Millisecond), Kind: kind, Payload: []byte(id)}
		if r.IntN(4) == 0 {
			t.Every = time.Duration(1+r.IntN(4)) * time.Millisecond
		}
		return t
	}
	book := func(id string, rev uint64) {
		if rev == 0 {
			return
		}
		if rev < revs[id] {
			l.Errorf("revision %d of %s comes after %d", rev, id, revs[id])
		}
		revs[id] = rev
	}
	var rev uint64
	var err error
	switch r.IntN(10) {
	case 0:
		rev, err = s.Schedule(ctx, timer(id))
		book(id, rev)
	case 1:
		rev, err = s.Schedule(ctx, timer(id), durable.IfAbsent())
		book(id, rev)
	case 2:
		rev, err = s.Schedule(ctx, timer(id), durable.IfRev(revs[id]))
		book(id, rev)
	case 3:
		_, err = s.Cancel(ctx, id)
	case 4:
		err = l.cancelRev(s, id, revs[id])
	case 5:
		var t durable.Timer
		t, _, err = s.Get(ctx, id)
		book(id, t.Rev)
	case 6:
		for t, failed := range s.List(ctx, durable.Query{Prefix: "shared", Limit: 5, ByDue: r.IntN(2) == 0}) {
			book(t.ID, t.Rev)
			err = failed
		}
	case 7:
		_, err = s.Redrive(ctx, id)
	case 8:
		_, err = s.Discard(ctx, id)
	case 9:
		other := fmt.Sprint("shared", r.IntN(stressShared))
		_, err = s.ScheduleBatch(ctx, []durable.Timer{timer(id), timer(other)})
	}
	if is(err, durable.ErrExists) || is(err, durable.ErrRev) {
		err = nil
	}
	return err
}

// cancelRev cancels a revision, and books it.
func (l *ledger) cancelRev(s *durable.Scheduler, id string, rev uint64) error {
	ok, err := s.Cancel(context.Background(), id, durable.IfRev(rev))
	if !ok {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := durable.Fire{Timer: durable.Timer{ID: id, Rev: rev}}.Key()
	o := l.keys[key]
	if o == nil {
		o = &occurrence{}
		l.keys[key] = o
	}
	if o.attempt > 0 && !o.failed {
		l.Errorf("%s: Cancel is true, and attempt %d has not failed", key, o.attempt)
	}
	o.cancelled = true
	return nil
}

// check checks that each solo timer has one outcome.
func (l *ledger) check() {
	l.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	sure, cancelled := 0, 0
	for id, t := range l.solo {
		if t.unsure {
			continue
		}
		sure++
		switch {
		case t.cancelled && t.ends > 0:
			l.Errorf("%s: it was cancelled, and it is done", id)
		case !t.cancelled && l.life == 0 && t.ends != 1:
			l.Errorf("%s: it was acknowledged, and has %d outcomes", id, t.ends)
		case !t.cancelled && !t.started: // the last end may have been in a crash
			l.Errorf("%s: it was acknowledged, and no handler was called", id)
		}
		if t.cancelled {
			cancelled++
		}
	}
	l.Logf("%d timers with their own ID, %d of them cancelled; %d occurrences", sure, cancelled, len(l.keys))
}
