package bench

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestContendersTakeTurnsToGoFirst(t *testing.T) {
	var order []string
	by := func(name string) func() int {
		return func() int { order = append(order, name); return 0 }
	}
	var d duel
	for range 3 {
		if err := d.round(1, by("std"), by("foliot")); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"std", "foliot", "foliot", "std", "std", "foliot"}; !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
}

func TestADuelWithFailedOperationsIsAnError(t *testing.T) {
	d := duel{name: "some work"}
	err := d.round(10, func() int { return 0 }, func() int { return 3 })
	if err == nil || !strings.Contains(err.Error(), "some work: 3 of 10") {
		t.Errorf("error %v", err)
	}
}

func TestWorkOnOtherThreadsCounts(t *testing.T) {
	var s side
	err := s.turn(1, false, func() int {
		return share(2, 2, func(int, int) int {
			for cpu := processCPU(); processCPU()-cpu < 20*time.Millisecond; {
				runtime.Gosched()
			}
			return 0
		})
	})
	if err != nil || s.cpu[0] < 20e6 {
		t.Errorf("%v ns, error %v, want at least 20 ms", s.cpu, err)
	}
}

func TestAllocationsAreCountedPerOperation(t *testing.T) {
	var s side
	kept := make([]*int, 1000)
	err := s.turn(len(kept), true, func() int {
		for i := range kept {
			kept[i] = new(int)
		}
		return 0
	})
	if err != nil || s.allocs[0] < 1 || s.allocs[0] > 1.5 {
		t.Errorf("%v allocations, error %v, want one", s.allocs, err)
	}
	runtime.KeepAlive(kept)
}

func TestShareDividesAllOperationsAmongGoroutines(t *testing.T) {
	for _, ops := range []int{0, 1, 7, 1000} {
		done := make([]int, ops)
		lost := share(3, ops, func(from, to int) int {
			for i := from; i < to; i++ {
				done[i]++
			}
			return to - from
		})
		if lost != ops || slices.ContainsFunc(done, func(n int) bool { return n != 1 }) {
			t.Errorf("%d operations: %d counted, done %v", ops, lost, done)
		}
	}
}

func TestHandOverStopsEachOnAnotherGoroutine(t *testing.T) {
	seen := make([]int, 1234)
	lost := handOver(len(seen), func(i int) int { return i }, func(i int) bool {
		seen[i]++
		return i%100 != 0
	})
	if lost != 13 || slices.ContainsFunc(seen, func(n int) bool { return n != 1 }) {
		t.Errorf("%d lost, want 13; seen %v", lost, seen)
	}
}
