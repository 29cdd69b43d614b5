package engine

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/survey"
	"github.com/foliot-go/foliot/internal/wheel"
)

// wantExactSpans compares the spans of all shards, taken for the tick at, with the entries of their
// wheels, counted one by one. Nothing may fire meanwhile.
func wantExactSpans(t *testing.T, eng *Engine, at wheel.Tick) {
	t.Helper()
	total := 0
	for i, s := range *eng.shards.Load() {
		spans := s.spans(nil, at)
		ticks, runningDue, armed := filedTicks(s)
		total += armed
		sum := 0
		for k, span := range spans {
			sum += span.Count
			n := 0
			for _, tick := range ticks {
				if span.First <= tick && tick <= span.Last {
					n++
				}
			}
			if k == 0 {
				n += runningDue
			}
			if span.Count != n {
				t.Fatalf("span %d of shard %d, %d to %d, has %d timers, want %d", k, i, span.First, span.Last, span.Count, n)
			}
			if span.First <= at && at < span.Last || k == 0 && runningDue > 0 && span.Last > at {
				t.Fatalf("span %d of shard %d, %d to %d, is not on one side of the tick %d", k, i, span.First, span.Last, at)
			}
		}
		if sum != armed {
			t.Fatalf("the spans of shard %d have %d timers, want %d", i, sum, armed)
		}
	}
	sum := 0
	horizon, _ := eng.Horizon()
	for _, s := range horizon {
		sum += s.Count
	}
	if sum != total {
		t.Fatalf("the horizon has %d timers, want %d", sum, total)
	}
}

// filedTicks returns the ticks at which the timers of a shard that count are filed, the number of those
// in stateRunningDue, and the number of all that are armed.
func filedTicks(s *Shard) (ticks []wheel.Tick, runningDue, armed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h, b := range s.w.All() {
		switch at, _ := s.w.Entry(h); {
		case b.kind == kindQueue:
		case b.state == stateRunningDue:
			runningDue++
		case at != wheel.Never:
			ticks = append(ticks, at)
		}
	}
	return ticks, runningDue, s.armed
}

func TestSpansHaveEveryArmedTimerOfEachKind(t *testing.T) {
	rnd := rand.New(rand.NewPCG(21, 22))
	own, err := New(Config{Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	delay := func() time.Duration { // nothing fires
		return time.Hour + time.Duration(rnd.Int64N(1<<(10+rnd.IntN(50))))
	}
	for _, eng := range []*Engine{own, Default()} {
		var stops []func()
		var goFuncs []*GoFunc
		var timers []Timer
		var chans []*Chan
		for range 60 {
			for range rnd.IntN(60) {
				switch rnd.IntN(6) {
				case 0:
					c := &Chan{C: make(chan time.Time, 1)}
					if err := c.Start(eng, delay(), rnd.IntN(2) == 0); err != nil {
						t.Fatal(err)
					}
					chans = append(chans, c)
				case 1:
					if eng == own {
						it := newTestTask(t, eng, func(*testTask) {})
						it.wakeAfter(delay())
						break
					}
					f := &GoFunc{F: NewCallback(func() {})}
					f.Start(delay())
					goFuncs = append(goFuncs, f)
				case 2:
					timer, err := eng.NewQueueTimer(func() {})
					if err != nil {
						t.Fatal(err)
					}
					timer.Reset(delay())
					timers = append(timers, timer)
				case 3:
					timer, err := eng.NewTimer(func() {})
					if err != nil {
						t.Fatal(err)
					}
					timer.Reset(delay())
					timers = append(timers, timer)
				default:
					timer, err := eng.AfterFunc(delay(), func() {})
					if err != nil {
						t.Fatal(err)
					}
					timers = append(timers, timer)
				}
			}
			for range rnd.IntN(60) {
				change(rnd, timers, delay)
				changeGoFunc(rnd, eng, goFuncs, delay)
				if len(chans) > 0 {
					if c := chans[rnd.IntN(len(chans))]; rnd.IntN(2) == 0 {
						c.Stop()
					} else if _, err := c.Reset(delay()); err != nil {
						t.Fatal(err)
					}
				}
			}
			at := eng.Floor(eng.Now())
			if rnd.IntN(2) == 0 {
				at = eng.Floor(eng.Deadline(eng.Now(), delay())) // as if much were overdue
			}
			wantExactSpans(t, eng, at)
		}
		for _, timer := range timers {
			stops = append(stops, func() { timer.Free() })
		}
		for _, f := range goFuncs {
			stops = append(stops, func() { f.Stop() })
		}
		for _, c := range chans {
			stops = append(stops, func() { c.Stop() })
		}
		for _, stop := range stops {
			stop()
		}
		wantExactSpans(t, eng, eng.Floor(eng.Now()))
	}
}

// change stops, frees or resets a timer.
func change(rnd *rand.Rand, timers []Timer, delay func() time.Duration) {
	if len(timers) == 0 {
		return
	}
	switch timer := timers[rnd.IntN(len(timers))]; rnd.IntN(5) {
	case 0:
		timer.Stop()
	case 1:
		timer.Free()
	default:
		timer.Reset(delay())
	}
}

// changeGoFunc stops or resets a GoFunc. What must be done in the wheel is put off.
func changeGoFunc(rnd *rand.Rand, eng *Engine, goFuncs []*GoFunc, delay func() time.Duration) {
	if len(goFuncs) == 0 {
		return
	}
	if f := goFuncs[rnd.IntN(len(goFuncs))]; rnd.IntN(2) == 0 {
		f.Stop()
	} else {
		f.Reset(eng.Now(), delay())
	}
}

func TestSpansCountATimerThatIsDueWhileItsCallbackRuns(t *testing.T) {
	p := NewProbe()
	p.holdWorkers()
	s := p.Shard(0)
	p.Open(s)
	timer, err := p.NewTimer(func() {})
	if err != nil {
		t.Fatal(err)
	}
	timer.Reset(ProbeTick)
	p.SetTime(int64(ProbeTick))
	if n := len(p.PopCalls(s, p.Now())); n != 1 {
		t.Fatalf("%d callbacks run, want 1", n)
	}
	timer.Reset(ProbeTick) // its callback runs
	p.SetTime(int64(3 * ProbeTick))
	if n := len(p.PopCalls(s, p.Now())); n != 0 {
		t.Fatalf("%d callbacks run, want none", n)
	}
	if _, n, _ := filedTicks(s); n != 1 {
		t.Fatalf("%d timers wait for their callbacks, want 1", n)
	}
	wantExactSpans(t, p.Engine, p.Floor(p.Now()))
	at := p.Floor(p.Now())
	want := []wheel.Span{{First: at, Last: at, Count: 1}}
	if got, _ := p.Horizon(); !slices.Equal(got, want) {
		t.Errorf("the horizon is %v, want %v", got, want)
	}
}

func TestCallbacksWithASeedAreTheSameEachTime(t *testing.T) {
	eng, err := New(Config{Workers: 2, Manual: NewManualClock(time.Time{})})
	if err != nil {
		t.Fatal(err)
	}
	f := []func(){func() { _ = 0 }, func() { _ = 1 }, func() { _ = 2 }}
	for i := range 10_000 {
		if _, err := eng.AfterFunc(time.Hour, f[i%7%3]); err != nil {
			t.Fatal(err)
		}
	}
	sample := func() []survey.Share { return eng.Callbacks(1000, rand.New(rand.NewPCG(1, 2)).Uint32N) }
	first := sample()
	if !slices.Equal(first, sample()) || len(first) != 3 {
		t.Errorf("the same seed gives %v and %v", first, sample())
	}
	for i, want := range []float64{3. / 7, 2. / 7, 2. / 7} {
		if got := first[i].Share; got < want-0.05 || got > want+0.05 {
			t.Errorf("share %d is %v, want about %v", i, got, want)
		}
	}
}
