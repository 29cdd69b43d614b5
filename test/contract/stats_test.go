package contract_test

import (
	"encoding/json"
	"expvar"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// wantStats checks the four counters of timers.
func wantStats(t *testing.T, when string, r *foliot.Runtime, armed int, fired, stopped, rearmed uint64) {
	t.Helper()
	s := r.Stats()
	if s.Armed != armed || s.Fired != fired || s.Stopped != stopped || s.Rearmed != rearmed {
		t.Errorf("%s: Armed %d, Fired %d, Stopped %d, Rearmed %d, want %d, %d, %d, %d",
			when, s.Armed, s.Fired, s.Stopped, s.Rearmed, armed, fired, stopped, rearmed)
	}
}

func TestStatsCountEveryCall(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r, clock := kit.NewManual(t, foliot.Options{Workers: workers})
		wantStats(t, "new", r, 0, 0, 0, 0)
		oneShot := kit.After(t, r, second, func() {})
		wantStats(t, "AfterFunc", r, 1, 0, 0, 0)
		timer := kit.NewTimer(t, r, func() {})
		wantStats(t, "NewTimer", r, 1, 0, 0, 0)
		timer.Reset(second)
		wantStats(t, "Reset of an idle timer", r, 2, 0, 0, 0)
		timer.Reset(2 * second)
		wantStats(t, "Reset of an armed timer", r, 2, 0, 0, 1)
		timer.Reset(second / 2)
		timer.ResetAt(kit.Epoch.Add(second))
		oneShot.Reset(3 * second)
		wantStats(t, "more Resets", r, 2, 0, 0, 4)
		timer.Stop()
		wantStats(t, "Stop", r, 1, 0, 1, 4)
		timer.Stop()
		foliot.Timer{}.Stop()
		wantStats(t, "Stop of an idle timer", r, 1, 0, 1, 4)
		oneShot.Stop()
		oneShot.Stop()
		oneShot.Reset(second)
		wantStats(t, "Stop of a one-shot timer", r, 0, 0, 2, 4)
		timer.Reset(second)
		kit.After(t, r, second, func() {})
		calls := []foliot.Call{{After: second, Func: func() {}}, {After: hour, Func: func() {}}}
		if _, err := r.AfterFuncBatch(nil, calls); err != nil {
			t.Fatal(err)
		}
		wantStats(t, "a batch", r, 4, 0, 2, 4)
		clock.Advance(second)
		wantStats(t, "Advance", r, 1, 3, 2, 4)
		timer.Reset(second)
		timer.Free()
		if got := r.Stats().Armed; got != 1 {
			t.Errorf("Armed is %d after Free, want 1", got)
		}
	})
}

func TestStatsAreExactWhenTheCallsHaveReturned(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		var armed, stopped, rearmed atomic.Int64
		for round := range 5 {
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					var timers []foliot.Timer
					for range 200 {
						timer, err := r.AfterFunc(hour, func() {})
						if err != nil {
							t.Error(err)
							return
						}
						armed.Add(1)
						timers = append(timers, timer)
					}
					for _, timer := range timers {
						switch kit.Random(4) {
						case 0, 1:
							if timer.Stop() {
								stopped.Add(1)
							}
						case 2:
							if timer.Reset(2 * hour) {
								rearmed.Add(1)
							}
						}
					}
				})
			}
			wg.Wait()
			s := r.Stats()
			if int64(s.Armed) != armed.Load()-stopped.Load() ||
				int64(s.Stopped) != stopped.Load() || int64(s.Rearmed) != rearmed.Load() {
				t.Fatalf("round %d: Armed %d, Stopped %d, Rearmed %d, want %d, %d, %d",
					round, s.Armed, s.Stopped, s.Rearmed,
					armed.Load()-stopped.Load(), stopped.Load(), rearmed.Load())
			}
		}
	})
}

func TestFiredCountsCallbacks(t *testing.T) {
	for name, run := range runners {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{Workers: 3, Go: run})
			var ran atomic.Int64
			for range 3000 {
				kit.After(t, r, kit.Random(10*millisecond), func() { ran.Add(1) })
			}
			time.Sleep(5 * millisecond)
			armed := kit.Shutdown(t, r)
			s := r.Stats()
			if s.Fired != uint64(ran.Load()) || armed+int(s.Fired) != 3000 || s.Goroutines != 0 {
				t.Errorf("Fired is %d and Goroutines is %d, with %d runs and %d of 3000 armed at Shutdown",
					s.Fired, s.Goroutines, ran.Load(), armed)
			}
		})
	}
}

func TestStatsMayBeReadAtAnyTime(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 3})
	end := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		var prior foliot.Stats
		for {
			select {
			case <-end:
				return
			default:
			}
			s := r.Stats()
			if s.Fired < prior.Fired || s.Stopped < prior.Stopped ||
				s.Rearmed < prior.Rearmed || s.Wakeups < prior.Wakeups {
				t.Errorf("a counter has decreased: %+v after %+v", s, prior)
				return
			}
			if s.Armed < 0 || s.Stale < 0 || s.Timers < 0 || s.Goroutines < 0 || s.Workers < 1 {
				t.Errorf("Stats returns impossible values: %+v", s)
				return
			}
			prior = s
			time.Sleep(100 * microsecond)
		}
	})
	for i := range 20_000 {
		timer := kit.After(t, r, kit.Random(millisecond), func() {})
		if i%2 == 0 {
			timer.Stop()
		}
		if i%5000 == 0 {
			if err := r.Resize(1 + i/5000); err != nil {
				t.Error(err)
			}
		}
	}
	testkit.Eventually(t, "nothing armed", func() bool { return r.Stats().Armed == 0 })
	close(end)
	wg.Wait()
}

func TestSlotsCountsTimersArmedOrNot(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	oneShot, reusable := kit.After(t, r, hour, func() {}), kit.NewTimer(t, r, func() {})
	if s := r.Stats(); s.Timers != 2 || s.Armed != 1 {
		t.Errorf("Timers is %d, Armed is %d, want 2, 1", s.Timers, s.Armed)
	}
	oneShot.Stop()
	reusable.Free()
	if !testkit.TrueWithin(slotFreeWithin, func() bool { return r.Stats().Timers == 0 }) {
		t.Errorf("Timers is %d after all timers are gone, want 0", r.Stats().Timers)
	}
}

func TestLateIsAConsistentHistogram(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	var wg sync.WaitGroup
	for range 1000 {
		wg.Add(1)
		kit.After(t, r, kit.Random(5*millisecond), wg.Done)
	}
	testkit.Returns(t, "all timers", wg.Wait)
	kit.Shutdown(t, r)
	late := r.Stats().Late
	if late.Count() == 0 || late.Count() > 1000 {
		t.Errorf("Count is %d, want 1 to 1000", late.Count())
	}
	var prior time.Duration
	for _, q := range []float64{0, 0.1, 0.5, 0.9, 0.99, 1} {
		got := late.Quantile(q)
		if got < prior {
			t.Errorf("Quantile(%v) is %v, want at least %v", q, got, prior)
		}
		prior = got
	}
	if late.Max() <= 0 || late.Mean() <= 0 || late.Mean() > late.Max() {
		t.Errorf("Mean is %v and Max is %v, want 0 < Mean <= Max", late.Mean(), late.Max())
	}
	var none foliot.Histogram
	if none.Count() != 0 || none.Quantile(0.5) != 0 || none.Max() != 0 || none.Mean() != 0 {
		t.Error("a method of the zero Histogram does not return 0")
	}
}

// The stopped timers are far in the future, so none of them comes due and is removed then.
func TestStoppedTimersAreScrubbed(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 2})
	const n = 50_000
	other := kit.After(t, r, 2*hour, func() {})
	var timers []foliot.Timer
	for i := range n {
		timers = append(timers, kit.After(t, r, hour+time.Duration(i)*millisecond, func() {}))
	}
	var wg sync.WaitGroup
	for part := range 4 {
		wg.Go(func() {
			for i := part; i < n; i += 4 {
				if !timers[i].Stop() {
					t.Error("Stop returns false, want true")
				}
			}
		})
	}
	wg.Wait()
	if got := r.Stats().Armed; got != 1 {
		t.Errorf("Armed is %d, want 1", got)
	}
	testkit.Eventually(t, "few stale entries and slots", func() bool {
		s := r.Stats()
		return s.Stale < n/20 && s.Timers < n/20
	})
	if !other.Stop() {
		t.Error("Stop returns false, want true")
	}
}

func TestStatsCanBePublished(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 2})
	kit.After(t, r, hour, func() {})
	v := expvar.Func(func() any { return r.Stats() })
	var got struct{ Workers, Armed int }
	if err := json.Unmarshal([]byte(v.String()), &got); err != nil {
		t.Fatalf("String returns %s, want JSON: %v", v, err)
	}
	if got.Workers != 2 || got.Armed != 1 {
		t.Errorf("String returns %s, want Workers 2 and Armed 1", v)
	}
	s := r.Stats()
	armed := 0
	for _, w := range s.PerWorker {
		armed += w.Armed
	}
	if len(s.PerWorker) != 2 || armed != 1 {
		t.Errorf("%d workers have %d timers armed, want 2 and 1: %+v",
			len(s.PerWorker), armed, s.PerWorker)
	}
}
