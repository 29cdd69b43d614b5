package bench

import (
	"math/rand/v2"
	"runtime"
	"time"
)

// A keeper is a contender with its ring.
type keeper struct {
	name string
	ring
}

// keepers returns the rings that the sheet wants, with n entries each.
func (s *sheet) keepers(n int) (all []keeper, done func()) {
	made := rings()
	for _, c := range contenders {
		if ring := made[c.Name]; ring != nil && s.o.wants(c) && s.ctx.Err() == nil {
			r := ring()
			r.fill(n)
			all = append(all, keeper{c.Name, r})
		}
	}
	return all, func() {
		for _, k := range all {
			k.close()
		}
	}
}

// perOp returns the nanoseconds that each of n operations took.
func perOp(n int, f func()) float64 {
	start := time.Now()
	f()
	return float64(time.Since(start).Nanoseconds()) / float64(n)
}

// wheelOps measures what a timeout costs that does not fire.
func wheelOps(s *sheet) error {
	all, done := s.keepers(s.n)
	defer done()
	ops := min(s.n/5+1, 200_000)
	for round := range s.rounds() {
		runtime.GC()
		moved, gone := rand.Perm(s.n)[:ops], rand.Perm(s.n)[:ops]
		for _, work := range []struct {
			name string
			do   func(ring)
		}{
			{"arm and cancel at once", func(r ring) { r.pairs(ops) }},
			{"re-arm one at random", func(r ring) { r.rearm(moved) }},
			{"cancel one at random", func(r ring) { r.cancel(gone) }},
			{"arm", func(r ring) { r.arm(gone) }},
		} {
			m := s.measure(work.name, "ns")
			m.Main = work.name == "arm and cancel at once"
			for i := range all {
				k := all[(round+i)%len(all)]
				m.add(k.name, s.n, perOp(ops, func() { work.do(k.ring) }))
			}
		}
	}
	return nil
}

// wheelChurn re-arms at random until every timer has been moved several times, so that the wheel has as many
// dead words as it ever gets.
func wheelChurn(s *sheet) error {
	all, done := s.keepers(s.n)
	defer done()
	some := make([]int, s.n/2+1)
	draw := func() {
		for i := range some {
			some[i] = rand.IntN(s.n)
		}
	}
	for range 8 {
		draw()
		for _, k := range all {
			if k.name != "std" && k.name != "heap" { // these do not change by it
				k.rearm(some)
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
			again.add(k.name, s.n, perOp(len(some), func() { k.rearm(some) }))
		}
		draw()
		noise.add("std", s.n, longest(some, func(int, int) {}))
		for i := range all {
			k := all[(round+i)%len(all)]
			worst.add(k.name, s.n, k.longest(some))
		}
	}
	return nil
}

// longest returns the processor time of the longest of the calls, in microseconds.
func longest(some []int, call func(i, k int)) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var most time.Duration
	for i, k := range some {
		start := threadCPU()
		call(i, k)
		most = max(most, threadCPU()-start)
	}
	return float64(most.Nanoseconds()) / 1e3
}
