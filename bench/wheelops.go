package bench

import (
	"math/rand/v2"
	"runtime"
	"time"
)

// A namedStructure is a contender with its structure.
type namedStructure struct {
	name string
	structure
}

// structures returns the wanted structures, with n entries each. The function returned closes them.
func (s *scenarioRun) structures(n int) (all []namedStructure, done func()) {
	makers := structureMakers()
	for _, c := range contenders {
		if makeOne := makers[c.Name]; makeOne != nil && s.opts.wants(c) && s.ctx.Err() == nil {
			r := makeOne()
			r.fill(n)
			all = append(all, namedStructure{c.Name, r})
		}
	}
	return all, func() {
		for _, k := range all {
			k.close()
		}
	}
}

// nsPerOp calls f, which does n operations, and returns the nanoseconds per operation.
func nsPerOp(n int, f func()) float64 {
	start := time.Now()
	f()
	return float64(time.Since(start).Nanoseconds()) / float64(n)
}

// wheelOps measures the operations on timeouts that do not fire.
func wheelOps(s *scenarioRun) error {
	all, done := s.structures(s.n)
	defer done()
	ops := min(s.n/5+1, 200_000)
	for round := range s.rounds() {
		runtime.GC()
		moved, gone := rand.Perm(s.n)[:ops], rand.Perm(s.n)[:ops]
		for _, work := range []struct {
			name string
			do   func(structure)
		}{
			{"arm and cancel at once", func(r structure) { r.armAndCancel(ops) }},
			{"re-arm one at random", func(r structure) { r.rearm(moved) }},
			{"cancel one at random", func(r structure) { r.cancel(gone) }},
			{"arm", func(r structure) { r.arm(gone) }},
		} {
			m := s.measure(work.name, "ns")
			m.Main = work.name == "arm and cancel at once"
			for i := range all {
				k := all[(round+i)%len(all)]
				m.add(k.name, s.n, nsPerOp(ops, func() { work.do(k.structure) }))
			}
		}
	}
	return nil
}

// wheelChurn re-arms random timers until each has been moved several times. By then the wheel holds as many stale
// words as it ever does.
func wheelChurn(s *scenarioRun) error {
	all, done := s.structures(s.n)
	defer done()
	indexes := make([]int, s.n/2+1)
	draw := func() {
		for i := range indexes {
			indexes[i] = rand.IntN(s.n)
		}
	}
	for range 8 {
		draw()
		for _, k := range all {
			if k.name != "std" && k.name != "heap" { // moves leave nothing behind in those two
				k.rearm(indexes)
			}
		}
	}
	again := s.measure("re-arm at random, after many such", "ns").main()
	worst := s.measure("the longest single re-arm, after many such", "µs")
	noise := s.measure("the longest call that does nothing", "µs").neutral()
	for round := range s.rounds() {
		draw()
		for i := range all {
			k := all[(round+i)%len(all)]
			again.add(k.name, s.n, nsPerOp(len(indexes), func() { k.rearm(indexes) }))
		}
		draw()
		noise.add("std", s.n, longestCall(indexes, func(int, int) {}))
		for i := range all {
			k := all[(round+i)%len(all)]
			worst.add(k.name, s.n, k.longestRearm(indexes))
		}
	}
	return nil
}

// longestCall calls call for each index and returns the processor time of the longest call, in microseconds.
func longestCall(indexes []int, call func(i, k int)) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var most time.Duration
	for i, k := range indexes {
		start := threadCPU()
		call(i, k)
		most = max(most, threadCPU()-start)
	}
	return float64(most.Nanoseconds()) / 1e3
}
