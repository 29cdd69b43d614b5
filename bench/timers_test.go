package bench

import (
	"sync/atomic"
	"testing"
	"time"
)

// eachTimers runs a test with the timers of every contender.
func eachTimers(t *testing.T, test func(t *testing.T, c contender, timers timers)) {
	for _, c := range contenders {
		if c.timers == nil {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			if c.racy && raceEnabled {
				t.Skip("it has data races of its own")
			}
			timers, err := c.timers()
			if err != nil {
				t.Fatal(err)
			}
			defer timers.close()
			test(t, c, timers)
		})
	}
}

func TestEveryContenderFiresAllAndOursAreNeverEarly(t *testing.T) {
	eachTimers(t, func(t *testing.T, c contender, timers timers) {
		const n = 300
		var early atomic.Int64
		fired := make(chan struct{}, n)
		for i := range n {
			d := time.Duration(1+i%30) * time.Millisecond
			armed := time.Now()
			err := timers.arm(d, func() {
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
	eachTimers(t, func(t *testing.T, _ contender, timers timers) {
		some := []int{3, 1, 4, 15, 92}
		lost := map[string]int{
			"fill":     timers.fill(100),
			"pairs":    timers.pairs(0, 50),
			"requests": timers.requests(990, 1010),
			"stop":     timers.stop(some),
			"refill":   timers.refill(some),
			"handOver": timers.handOver(60),
			"register": timers.register(70),
		}
		lost["unregister"] = timers.unregister(70)
		if timers.can(toReset) {
			lost["reset"] = timers.reset(some, 3*time.Hour)
		}
		if timers.can(toResetAt) {
			lost["resetAt"] = timers.resetAt(some, time.Now().Add(4*time.Hour))
		}
		var w weight
		lost["weigh"] = timers.weigh(&w, 100)
		for op, n := range lost {
			if n != 0 {
				t.Errorf("%s: %d lost", op, n)
			}
		}
		if len(w.bytes) != 1 || len(w.gc) != 1 || len(w.all) != 1 {
			t.Errorf("weight %+v", w)
		}
	})
}

func TestTimersThatCannotBeArmedOrStoppedAreLost(t *testing.T) {
	n := 0
	lame := newFleet(funcs[int]{
		afterFunc: func(time.Duration, func()) (int, error) { n++; return n, nil },
		stop:      func(h int) bool { return h%10 != 0 },
		reset:     func(h int, _ time.Duration) bool { return h%10 != 0 },
	})
	if lost := lame.pairs(0, 100); lost != 10 {
		t.Errorf("pairs: %d lost, want 10", lost)
	}
	if lame.can(toResetAt) || !lame.can(toReset) {
		t.Error("it can reset, but not to a time")
	}
	if lost := lame.register(100) + lame.unregister(100); lost != 10 {
		t.Errorf("register and unregister: %d lost, want 10", lost)
	}
	if lost := lame.handOver(1000); lost != 100 {
		t.Errorf("handOver: %d lost, want 100", lost)
	}
}

func TestEveryRingDoesAllOperations(t *testing.T) {
	for name, make := range rings() {
		r := make()
		r.fill(100)
		r.pairs(10)
		some := []int{3, 1, 4, 15, 92}
		r.rearm(some)
		r.cancel(some)
		r.arm(some)
		if most := r.longest(some); most < 0 {
			t.Errorf("%s: the longest takes %v µs", name, most)
		}
		switch r := r.(type) {
		case *wheelRack:
			if r.w.Len() != 100 {
				t.Errorf("%s: %d entries, want 100", name, r.w.Len())
			}
		case *listRack:
			if r.w.Len() != 100 {
				t.Errorf("%s: %d entries, want 100", name, r.w.Len())
			}
		}
		r.close()
	}
	if w, fire := expireTHW(500); fire() != 500 || w.Count() != 0 {
		t.Errorf("thw: %d are left", w.Count())
	}
}
