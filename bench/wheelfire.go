package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"

	"github.com/foliot-go/foliot/bench/internal/list"
	"github.com/foliot-go/foliot/wheel"
)

// passLimit is the number of entries that a bounded pass takes.
const passLimit = 64

// filledWheel returns a wheel with n entries at random ticks of the hour.
func filledWheel(n int) *wheel.Wheel[payload] {
	w := wheel.New[payload](0, 0)
	for i, at := range randomTicks(n) {
		w.Schedule(at, payload(i))
	}
	return w
}

// wheelFire measures the cost of yielding all entries, including the moves from level to level. The standard
// library fires by the clock, so it has no such operation to compare with.
func wheelFire(s *scenarioRun) error {
	n := s.n
	write := func(name, unit, contender string, x float64) {
		s.measure(name, unit).against("lists").add(contender, n, x)
	}
	const byTick = "fire, an Advance for every tick of the hour"
	for range s.fewRounds() {
		w := wheel.New[payload](0, 0)
		ticks := randomTicks(n)
		runtime.GC() // so that the garbage of earlier work is not swept during the measurement
		grow := longestCall(make([]int, n), func(i, _ int) { w.Schedule(ticks[i], payload(i)) })
		write(byTick, "ns", "wheel", nsPerOp(n, func() {
			for now := wheel.Tick(1); now <= hourTicks; now++ {
				for range w.Advance(now) {
				}
			}
		}))
		if lists, _ := findContender("lists"); s.opts.wants(lists) {
			l := list.New[payload]()
			for i, at := range ticks {
				l.Schedule(uint64(at), payload(i))
			}
			write(byTick, "ns", "lists", nsPerOp(n, func() {
				for now := uint64(1); now <= hourTicks; now++ {
					l.Advance(now, func(uint64, payload) {})
				}
			}))
		}
		w = filledWheel(n)
		write("fire, the whole hour in one Advance", "ns", "wheel", nsPerOp(n, func() {
			for range w.Advance(hourTicks) {
			}
		}))
		if peer, _ := findContender("thw"); s.opts.wants(peer) {
			fired := 0
			w, fire := newDueTHW(n)
			write("fire, the whole hour in one Advance", "ns", "thw", nsPerOp(n, func() { fired = fire() }))
			if left := w.Count(); fired != n || left != 0 {
				s.fail("thw", n, fmt.Errorf("%d of %d fired, %d are left", fired, n, left))
			}
		}
		w = filledWheel(n)
		runtime.GC()
		write("the longest pass of 64 after a jump of an hour", "µs", "wheel", longestCall(make([]int, n/passLimit+1), func(int, int) {
			left := passLimit
			for range w.Advance(hourTicks) {
				if left--; left == 0 {
					break
				}
			}
		}))
		w = filledWheel(n)
		write("drain", "ns", "wheel", nsPerOp(n, func() {
			for range w.Drain() {
			}
		}))
		write("the longest single arm on the way there", "µs", "wheel", grow)
	}
	s.measure(byTick, "ns").Main = true
	return nil
}

// wheelMemory measures the bytes of heap per entry, and the cost of a garbage collection with all of them armed.
func wheelMemory(s *scenarioRun) error {
	makers := structureMakers()
	bytes := s.measure("bytes each, just armed", "B").main()
	gc := s.measure("added to a garbage collection: CPU", "ms")
	for _, c := range contenders {
		if makers[c.Name] == nil || !s.opts.wants(c) || s.ctx.Err() != nil {
			continue
		}
		r := makers[c.Name]()
		r.fill(0)
		before, bare := heapBytes(), gcTime()
		r.fill(s.n)
		handles := int64(handleBytes[c.Name] * s.n)
		bytes.add(c.Name, s.n, float64(max(heapBytes()-before-handles, 1))/float64(s.n))
		gc.add(c.Name, s.n, gcTime().minus(bare).Median)
		r.close()
		runtime.KeepAlive(r)
	}
	if s.ctx.Err() == nil {
		wheelChurned(s)
	}
	return nil
}

// handleBytes is the size of a handle of each structure. It is not counted, because a program may or may not keep
// handles.
var handleBytes = map[string]int{"wheel": 8, "lists": 8, "thw": 16, "std": 8, "heap": 8}

// wheelChurned measures the memory of a wheel after many moves, and what remains of it after most entries were
// cancelled.
func wheelChurned(s *scenarioRun) {
	handles := make([]wheel.Handle, s.n)
	before := heapBytes()
	w := wheel.New[payload](0, 0)
	for i, at := range randomTicks(s.n) {
		handles[i] = w.Schedule(at, payload(i))
	}
	ticks := randomTicks(1 << 16)
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
