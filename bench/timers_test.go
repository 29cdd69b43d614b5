package bench

import (
	"sync/atomic"
	"testing"
	"time"
)

// eachTimers runs a subtest with the timers of every contender.
func eachTimers(t *testing.T, test func(t *testing.T, c contender, set timers)) {
	for _, c := range contenders {
		if c.timers == nil {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			if c.hasRaces && raceEnabled {
				t.Skip("this contender has data races of its own")
			}
			set, err := c.timers()
			if err != nil {
				t.Fatal(err)
			}
			defer set.close()
			test(t, c, set)
		})
	}
}

func TestEveryContenderFiresAllAndOursAreNeverEarly(t *testing.T) {
	eachTimers(t, func(t *testing.T, c contender, set timers) {
		const n = 300
		var early atomic.Int64
		fired := make(chan struct{}, n)
		for i := range n {
			d := time.Duration(1+i%30) * time.Millisecond
			armed := time.Now()
			err := set.arm(d, func() {
				if time.Since(armed) < d {
					early.Add(1)
				}
				fired <- struct{}{}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		giveUp := time.After(30 * time.Second)
		for i := range n {
			select {
			case <-fired:
			case <-giveUp:
				t.Fatalf("%d of %d have fired", i, n)
			}
		}
		if got := early.Load(); got > 0 {
			if c.Kind != Peer || c.Name == "heap" {
				t.Errorf("%d of %d fired early", got, n)
			} else {
				t.Logf("%d of %d fired early", got, n)
			}
		}
	})
}

func TestEveryContenderDoesAllOperations(t *testing.T) {
	eachTimers(t, func(t *testing.T, _ contender, set timers) {
		indexes := []int{3, 1, 4, 15, 92}
		failed := map[string]int{
			"fill":       set.fill(100),
			"armAndStop": set.armAndStop(0, 50),
			"requests":   set.requests(990, 1010),
			"stop":       set.stop(indexes),
			"refill":     set.refill(indexes),
			"handOver":   set.handOver(60),
			"register":   set.register(70),
		}
		failed["unregister"] = set.unregister(70)
		if set.supports(featureReset) {
			failed["reset"] = set.reset(indexes, 3*time.Hour)
		}
		if set.supports(featureResetAt) {
			failed["resetAt"] = set.resetAt(indexes, time.Now().Add(4*time.Hour))
		}
		var f footprint
		failed["measureFootprint"] = set.measureFootprint(&f, 100)
		for op, n := range failed {
			if n != 0 {
				t.Errorf("%s: %d failed", op, n)
			}
		}
		if len(f.bytes) != 1 || len(f.gc) != 1 || len(f.gcWithHandles) != 1 {
			t.Errorf("footprint %+v", f)
		}
	})
}

func TestFailedOperationsAreCounted(t *testing.T) {
	n := 0
	flawed := newTimerSet(timerFuncs[int]{
		afterFunc: func(time.Duration, func()) (int, error) { n++; return n, nil },
		stop:      func(h int) bool { return h%10 != 0 },
		reset:     func(h int, _ time.Duration) bool { return h%10 != 0 },
	})
	if failed := flawed.armAndStop(0, 100); failed != 10 {
		t.Errorf("pairs: %d failed, want 10", failed)
	}
	if flawed.supports(featureResetAt) || !flawed.supports(featureReset) {
		t.Error("want support for reset and none for resetAt")
	}
	if failed := flawed.register(100) + flawed.unregister(100); failed != 10 {
		t.Errorf("register and unregister: %d failed, want 10", failed)
	}
	if failed := flawed.handOver(1000); failed != 100 {
		t.Errorf("handOver: %d failed, want 100", failed)
	}
}

func TestEveryStructureDoesAllOperations(t *testing.T) {
	for name, make := range structureMakers() {
		r := make()
		r.fill(100)
		r.armAndCancel(10)
		indexes := []int{3, 1, 4, 15, 92}
		r.rearm(indexes)
		r.cancel(indexes)
		r.arm(indexes)
		if most := r.longestRearm(indexes); most < 0 {
			t.Errorf("%s: the longest call takes %v µs", name, most)
		}
		switch r := r.(type) {
		case *wheelStructure:
			if r.w.Len() != 100 {
				t.Errorf("%s: %d entries, want 100", name, r.w.Len())
			}
		case *listStructure:
			if r.w.Len() != 100 {
				t.Errorf("%s: %d entries, want 100", name, r.w.Len())
			}
		}
		r.close()
	}
	if w, fire := newDueTHW(500); fire() != 500 || w.Count() != 0 {
		t.Errorf("thw: %d entries are left", w.Count())
	}
}
