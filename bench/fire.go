package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"

	"github.com/foliot-go/foliot/bench/internal/list"
	"github.com/foliot-go/foliot/wheel"
)

// budget is how many entries a pass takes that must not last long.
const budget = 64

// filled returns a wheel with n timers in the hour.
func filled(n int) *wheel.Wheel[payload] {
	w := wheel.New[payload](0, 0)
	for i, at := range deadlines(n) {
		w.Schedule(at, payload(i))
	}
	return w
}

// wheelFire measures what it costs to yield all entries, the moving down from level to level included. The
// standard library fires by the clock and has nothing to set beside it.
func wheelFire(s *sheet) error {
	n := s.n
	write := func(name, unit, contender string, x float64) {
		s.measure(name, unit).against("lists").add(contender, n, x)
	}
	const byTick = "fire, an Advance for every tick of the hour"
	for range s.fewRounds() {
		w := wheel.New[payload](0, 0)
		ticks := deadlines(n)
		runtime.GC() // what was measured before is not to be swept now
		grow := longest(make([]int, n), func(i, _ int) { w.Schedule(ticks[i], payload(i)) })
		write(byTick, "ns", "wheel", perOp(n, func() {
			for now := wheel.Tick(1); now <= hour; now++ {
				for range w.Advance(now) {
				}
			}
		}))
		if lists, _ := find("lists"); s.o.wants(lists) {
			l := list.New[payload]()
			for i, at := range ticks {
				l.Schedule(uint64(at), payload(i))
			}
			write(byTick, "ns", "lists", perOp(n, func() {
				for now := uint64(1); now <= hour; now++ {
					l.Advance(now, func(uint64, payload) {})
				}
			}))
		}
		w = filled(n)
		write("fire, the whole hour in one Advance", "ns", "wheel", perOp(n, func() {
			for range w.Advance(hour) {
			}
		}))
		if peer, _ := find("thw"); s.o.wants(peer) {
			fired := 0
			w, fire := expireTHW(n)
			write("fire, the whole hour in one Advance", "ns", "thw", perOp(n, func() { fired = fire() }))
			if left := w.Count(); fired != n || left != 0 {
				s.fail("thw", n, fmt.Errorf("%d of %d fired, %d are left", fired, n, left))
			}
		}
		w = filled(n)
		runtime.GC()
		write("the longest pass of 64 after a jump of an hour", "µs", "wheel", longest(make([]int, n/budget+1), func(int, int) {
			left := budget
			for range w.Advance(hour) {
				if left--; left == 0 {
					break
				}
			}
		}))
		w = filled(n)
		write("drain", "ns", "wheel", perOp(n, func() {
			for range w.Drain() {
			}
		}))
		write("the longest single arm on the way there", "µs", "wheel", grow)
	}
	s.measure(byTick, "ns").Main = true
	return nil
}

// wheelMemory measures what entries weigh: bytes of heap each, and what a garbage collection takes with all of
// them armed.
func wheelMemory(s *sheet) error {
	made := rings()
	bytes := s.measure("bytes each, just armed", "B").main()
	gc := s.measure("added to a garbage collection: CPU", "ms")
	for _, c := range contenders {
		if made[c.Name] == nil || !s.o.wants(c) || s.ctx.Err() != nil {
			continue
		}
		r := made[c.Name]()
		r.fill(0)
		before, bare := heapBytes(), collecting()
		r.fill(s.n)
		handles := int64(handleBytes[c.Name] * s.n)
		bytes.add(c.Name, s.n, float64(max(heapBytes()-before-handles, 1))/float64(s.n))
		gc.add(c.Name, s.n, collecting().less(bare).Median)
		r.close()
		runtime.KeepAlive(r)
	}
	if s.ctx.Err() == nil {
		wheelChurned(s)
	}
	return nil
}

// handleBytes are what the handles of the rings take, which the program may or may not keep. Those of the
// standard library and of the heap are counted, as a pointer is what keeps the timer.
var handleBytes = map[string]int{"wheel": 8, "lists": 8, "thw": 16, "std": 8, "heap": 8}

func wheelChurned(s *sheet) {
	handles := make([]wheel.Handle, s.n)
	before := heapBytes()
	w := wheel.New[payload](0, 0)
	for i, at := range deadlines(s.n) {
		handles[i] = w.Schedule(at, payload(i))
	}
	ticks := deadlines(1 << 16)
	for i := range 8 * s.n {
		w.Reschedule(handles[rand.IntN(s.n)], ticks[i&(len(ticks)-1)])
	}
	s.measure("bytes each, after re-arming all of them eight times", "B").add("wheel", s.n, float64(heapBytes()-before)/float64(s.n))
	for _, k := range rand.Perm(s.n)[:max(0, s.n-1000)] {
		w.Cancel(handles[k])
	}
	w.Trim(math.MaxInt)
	s.measure("MiB left of it with 1,000 timers, after Trim", "MiB").add("wheel", s.n, float64(heapBytes()-before)/(1<<20))
	runtime.KeepAlive(w)
	runtime.KeepAlive(handles)
}
