package contract_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// countOf returns the number of timers in all buckets.
func countOf(h []foliot.HorizonBucket) (n int) {
	for _, b := range h {
		n += b.Count
	}
	return n
}

// wantAdjoining checks that buckets are in order, adjoin, and begin at 0 or before.
func wantAdjoining(t *testing.T, h []foliot.HorizonBucket) {
	t.Helper()
	for i, b := range h {
		switch {
		case b.From >= b.To || b.Count < 0:
			t.Fatalf("bucket %d is %+v", i, b)
		case i == 0 && (b.From > 0 || b.To <= 0):
			t.Fatalf("the first bucket is %+v; it must contain the present", b)
		case i > 0 && b.From != h[i-1].To:
			t.Fatalf("bucket %d begins at %v, the one before ends at %v", i, b.From, h[i-1].To)
		}
	}
}

// A deadlines has the deadlines of timers and tasks that a test has armed.
type deadlines struct {
	timers []foliot.Timer           // those that are armed have a Deadline
	others map[any]func() time.Time // deadlines of other things; the zero time: not armed
}

// all returns all deadlines.
func (d *deadlines) all() (at []time.Time) {
	for _, t := range d.timers {
		if due, ok := t.Deadline(); ok {
			at = append(at, due)
		}
	}
	for _, due := range d.others {
		if due := due(); !due.IsZero() {
			at = append(at, due)
		}
	}
	return at
}

// wantExact compares a horizon, taken at the time now, with the deadlines counted one by one.
func (d *deadlines) wantExact(t *testing.T, h []foliot.HorizonBucket, now time.Time) {
	t.Helper()
	wantAdjoining(t, h)
	counts := make([]int, len(h))
	for _, at := range d.all() {
		for i := 0; ; i++ {
			if i == len(h) {
				t.Fatalf("a timer that is due in %v is in no bucket", at.Sub(now))
			}
			if at.Sub(now) < h[i].To {
				counts[i]++
				break
			}
		}
	}
	for i, b := range h {
		if b.Count != counts[i] {
			t.Errorf("bucket %d of %d, %v to %v, has %d timers, want %d", i, len(h), b.From, b.To, b.Count, counts[i])
		}
	}
}

// A waitingTask is a task that waits for the time due on its runtime, again and again.
type waitingTask struct {
	delay foliot.Delay
	next  []time.Duration
	due   *time.Time
}

func (w *waitingTask) Poll(cx *foliot.Context) foliot.Status {
	for w.delay.Poll(cx) {
		if len(w.next) == 0 {
			*w.due = time.Time{}
			return foliot.Done
		}
		w.delay = foliot.NewDelay(w.next[0])
		*w.due = kit.Epoch.Add(cx.Now() + w.next[0]) // a manual clock begins there
		w.next = w.next[1:]
	}
	return foliot.Pending
}

func TestHorizonIsExactOnAManualClock(t *testing.T) {
	testkit.SkipUnderRace(t, "one goroutine moves the clock")
	eachWorkers(t, func(t *testing.T, workers int) {
		rnd := rand.New(rand.NewPCG(13, uint64(workers)))
		rt, clock := kit.NewManual(t, foliot.Options{Workers: workers})
		d := &deadlines{others: map[any]func() time.Time{}}
		delay := func() time.Duration {
			return time.Duration(rnd.Int64N(1 << (3 + rnd.IntN(45)))) // up to three days, most are short
		}
		ctx, cancel := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		for range 3 { // their timers are in the wheel and do not count
			q := foliot.NewQueue[int](rt)
			if _, err := q.Push(time.Duration(rnd.Int64N(int64(hour))), 1); err != nil {
				t.Fatal(err)
			}
			ended.Go(func() { _, _ = q.Wait(ctx, make([]int, 1)) })
		}
		defer ended.Wait()
		defer cancel()
		for round := range 150 {
			for range rnd.IntN(40) {
				d.arm(t, rt, clock, rnd, delay)
			}
			for range rnd.IntN(20) {
				timer := d.timers[rnd.IntN(len(d.timers))]
				switch rnd.IntN(4) {
				case 0:
					timer.Stop()
				case 1:
					timer.Free()
				default:
					timer.Reset(delay())
				}
			}
			h := rt.Horizon()
			d.wantExact(t, h, clock.Now())
			if armed := rt.Stats().Armed; countOf(h) != armed {
				t.Fatalf("round %d: the horizon has %d timers, Stats.Armed is %d", round, countOf(h), armed)
			}
			if t.Failed() {
				return
			}
			clock.Advance(delay() / 4)
		}
	})
}

// arm arms something with a random deadline.
func (d *deadlines) arm(t *testing.T, rt *foliot.Runtime, clock *foliot.ManualClock, rnd *rand.Rand, delay func() time.Duration) {
	after := delay()
	switch rnd.IntN(9) {
	case 0:
		c := kit.NewChanTimer(t, rt, after)
		due := rt.Now().Add(after)
		d.others[c] = func() time.Time {
			if len(c.C) > 0 {
				return time.Time{}
			}
			return due
		}
	case 1:
		ctx, cancel := rt.WithTimeout(context.Background(), after)
		due, _ := ctx.Deadline()
		d.others[ctx] = func() time.Time {
			if ctx.Err() != nil {
				return time.Time{}
			}
			return due
		}
		t.Cleanup(cancel)
	case 2:
		due := rt.Now().Add(after)
		w := &waitingTask{delay: foliot.NewDelay(after), next: []time.Duration{delay(), delay()}, due: &due}
		if _, err := rt.Spawn(w); err != nil {
			t.Fatal(err)
		}
		d.others[w] = func() time.Time { return due }
		clock.Advance(0) // polls the task
	case 3:
		timer, err := rt.Every(after+hour, func() {}) // not in timers: a Reset would shorten its period
		if err != nil {
			t.Fatal(err)
		}
		d.others[timer] = func() time.Time {
			due, _ := timer.Deadline()
			return due
		}
	case 4:
		timer := kit.NewTimer(t, rt, func() {})
		timer.Reset(after)
		d.timers = append(d.timers, timer)
	default:
		d.timers = append(d.timers, kit.After(t, rt, after, func() {}))
	}
}

func TestHorizonIsExactOnTheSystemClock(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		rnd := rand.New(rand.NewPCG(17, uint64(workers)))
		rt := kit.NewRuntime(t, foliot.Options{Workers: workers})
		for round := range 20 {
			var mu sync.Mutex
			d := &deadlines{}
			var arming sync.WaitGroup
			for k := range 8 { // goroutines use different shards
				delays := make([]time.Duration, 100)
				for i := range delays {
					delays[i] = time.Duration(rnd.Int64N(1<<(10+rnd.IntN(50)))) + hour
				}
				arming.Go(func() {
					for i, delay := range delays {
						timer := kit.After(t, rt, delay, kit.Never(t, "a timer of an hour"))
						switch (i + k + round) % 5 {
						case 0:
							timer.Stop()
						case 1:
							timer.Reset(hour) // not later, see Horizon
						}
						mu.Lock()
						d.timers = append(d.timers, timer)
						mu.Unlock()
					}
				})
			}
			arming.Wait()
			if err := rt.Resize(1 + round%5); err != nil { // shards change their owners
				t.Fatal(err)
			}
			// The horizon is of a time between before and after.
			before := time.Now()
			h := rt.Horizon()
			after := time.Now()
			wantAdjoining(t, h)
			if armed := rt.Stats().Armed; countOf(h) != armed {
				t.Fatalf("the horizon has %d timers, Stats.Armed is %d", countOf(h), armed)
			}
			all := d.all()
			sum := 0
			for i, b := range h {
				sum += b.Count
				least, most := 0, 0
				for _, at := range all {
					if at.Sub(before) < b.To {
						least++
					}
					if at.Sub(after) < b.To {
						most++
					}
				}
				if sum < least || sum > most {
					t.Fatalf("the first %d buckets, up to %v, have %d timers, want %d to %d", i+1, b.To, sum, least, most)
				}
			}
			for _, timer := range d.timers {
				timer.Stop()
			}
			if h := rt.Horizon(); h != nil {
				t.Fatalf("without timers the horizon is %v, want nil", h)
			}
		}
	})
}

// A timer that is reset to a later time stays where it is in the wheel. It counts once, there or at its
// deadline.
func TestHorizonCountsATimerOnceAfterReset(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		rt := kit.NewRuntime(t, foliot.Options{Workers: workers})
		timer := kit.After(t, rt, hour, kit.Never(t, "a timer of an hour"))
		timer.Reset(3 * hour)
		h := rt.Horizon()
		wantAdjoining(t, h)
		last := h[len(h)-1]
		isIn := func(d time.Duration) bool { return last.From <= d && last.To > d-second } // some time has passed
		if countOf(h) != 1 || last.Count != 1 || !isIn(hour) && !isIn(3*hour) {
			t.Errorf("the horizon is %v, want one timer in one hour or in three", h)
		}
	})
}

func TestHorizonCountsWhatIsOverdueFirst(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		rt, clock := kit.NewManual(t, foliot.Options{Workers: workers})
		kit.After(t, rt, hour, kit.Never(t, "a timer of an hour"))
		const others = 100
		var h []foliot.HorizonBucket
		kit.After(t, rt, second, func() {
			for range others { // they run when this callback has returned
				kit.After(t, rt, -1, func() {})
			}
			h = rt.Horizon()
		})
		clock.Advance(second)
		wantAdjoining(t, h)
		if len(h) != 3 || h[0].Count != others || h[1].Count != 0 || h[2].Count != 1 {
			t.Errorf("the horizon is %v, want %d timers, then none, then 1", h, others)
		}
		if h[2].To-h[2].From > hour || h[2].From > hour-second || h[2].To <= hour-second {
			t.Errorf("a timer that is due in %v is in the bucket from %v to %v", hour-second, h[2].From, h[2].To)
		}
	})
}

func TestHorizonCountsATimerThatIsDueWhileItsCallbackRuns(t *testing.T) {
	rt := kit.NewRuntime(t, foliot.Options{Workers: 2})
	started, release := make(chan struct{}), make(chan struct{})
	var timer foliot.Timer
	var runs atomic.Int32
	timer = kit.NewTimer(t, rt, func() {
		if runs.Add(1) == 1 {
			timer.Reset(millisecond)
			close(started)
			<-release
		}
	})
	timer.Reset(0)
	testkit.Receive(t, started, "the callback")
	deadline, _ := timer.Deadline()
	for stop := time.Now().Add(50 * millisecond); time.Now().Before(stop); runtime.Gosched() {
		before := time.Now()
		h := rt.Horizon()
		wantAdjoining(t, h)
		if countOf(h) != 1 {
			t.Fatalf("the horizon has %d timers, want 1", countOf(h))
		}
		if !before.Before(deadline) && h[0].Count != 1 {
			t.Fatalf("the timer is due, and the first bucket has %d timers, want 1", h[0].Count)
		}
	}
	close(release)
	testkit.Returns(t, "the second run", func() {
		for runs.Load() < 2 {
			runtime.Gosched()
		}
	})
}

func TestHorizonAndCallbacksDuringConcurrentUse(t *testing.T) {
	rt := kit.NewRuntime(t, foliot.Options{Workers: 3})
	ctx, cancel := context.WithTimeout(t.Context(), testkit.StressTime(t, 300*millisecond))
	defer cancel()
	var users sync.WaitGroup
	var fired atomic.Int64
	for k := range 4 {
		users.Go(func() {
			timers := make([]foliot.Timer, 200)
			reusable := kit.NewTimer(t, rt, func() { fired.Add(1) })
			defer reusable.Free()
			for i := 0; ctx.Err() == nil; i++ {
				d := kit.Random(20 * millisecond)
				switch (i + k) % 6 {
				case 0:
					reusable.Reset(d)
				case 1:
					kit.NewChanTimer(t, rt, d)
				case 2:
					_, _ = rt.Spawn(&waitingTask{delay: foliot.NewDelay(d), due: new(time.Time)})
				default:
					timers[i%200].Stop()
					timers[i%200] = kit.After(t, rt, d, func() { fired.Add(1) })
				}
			}
		})
	}
	for range 3 {
		users.Go(func() {
			for ctx.Err() == nil {
				wantAdjoining(t, rt.Horizon())
				wantShares(t, rt.Callbacks(0))
				if err := rt.Resize(1 + kit.Random(4)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	users.Add(1)
	go func() {
		defer users.Done()
		for ctx.Err() == nil {
			runtime.GC()
		}
	}()
	users.Wait()
	if fired.Load() == 0 {
		t.Error("no timer has fired")
	}
}

func TestQueueHorizonIsExact(t *testing.T) {
	testkit.SkipUnderRace(t, "one goroutine moves the clock")
	rt, clock := kit.NewManual(t, foliot.Options{})
	rnd := rand.New(rand.NewPCG(19, 20))
	q := foliot.NewQueue[time.Time](rt)
	if h := q.Horizon(); h != nil {
		t.Fatalf("the horizon of an empty queue is %v, want nil", h)
	}
	for range 100 {
		for range 50 {
			at := clock.Now().Add(time.Duration(rnd.Int64N(1<<(3+rnd.IntN(45))) - 1000))
			if _, err := q.PushAt(at, at); err != nil {
				t.Fatal(err)
			}
		}
		q.Peek()
		d := &deadlines{others: map[any]func() time.Time{}}
		n := 0
		for at := range q.All() {
			d.others[n] = func() time.Time { return at }
			n++
		}
		h := q.Horizon()
		d.wantExact(t, h, clock.Now())
		if countOf(h) != q.Len() || q.Len() != n {
			t.Fatalf("the horizon has %d values, Len is %d, want %d", countOf(h), q.Len(), n)
		}
		q.TryWait(make([]time.Time, rnd.IntN(60)+1))
		clock.Advance(time.Duration(rnd.Int64N(1 << 30)))
	}
	kit.Shutdown(t, rt)
	if h := q.Horizon(); countOf(h) != q.Len() {
		t.Errorf("after Shutdown the horizon has %d values, want %d", countOf(h), q.Len())
	}
}

func TestHorizonOfAClosedRuntimeIsEmpty(t *testing.T) {
	rt := kit.NewRuntime(t, foliot.Options{})
	kit.After(t, rt, hour, kit.Never(t, "a timer of an hour"))
	kit.Shutdown(t, rt)
	if h, c := rt.Horizon(), rt.Callbacks(0); len(h) != 0 || len(c) != 0 {
		t.Errorf("after Shutdown Horizon returns %v and Callbacks %v, want nothing", h, c)
	}
}
