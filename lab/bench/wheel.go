package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/foliot-go/foliot/lab/bench/internal/list"
	"github.com/foliot-go/foliot/wheel"
)

// wheels measures structures that hold deadlines: operations on timeouts that do not fire, very many of these, firing,
// and memory.
func wheels(r *run) error {
	if r.measures("wheel-memory", "wheel-gc") {
		turns(r, 1, enter(r, structureMakers), func(_ int, e *entrant[structure]) ([]result, error) {
			e.it.fill(0)
			before, bare := heapBytes(), gcTime()
			e.it.fill(r.n)
			bytes := float64(max(heapBytes()-before-int64(handleBytes[e.name]*r.n), 1)) / float64(r.n)
			gc := max(gcTime()-bare, 0)
			e.it.close()
			runtime.KeepAlive(e.it)
			key := count(r.n)
			return []result{{"wheel-memory", key, r.n, []value{{bytes, "B/entry"}}}, {"wheel-gc", key, 1, []value{{gc, "cpu-ns/gc"}}}}, nil
		})
	}
	if r.measures("wheel-memory-churned", "wheel-memory-trimmed") {
		turns(r, 1, enter(r, structureMakers[1:2]), func(int, *entrant[structure]) ([]result, error) { return wheelChurned(r.n), nil })
	}
	all := enter(r, structureMakers)
	for _, e := range all {
		e.it.fill(r.n)
	}
	defer func() {
		for _, e := range all {
			e.it.close()
		}
	}()
	if r.measures("wheel-arm-cancel", "wheel-rearm", "wheel-cancel", "wheel-arm") {
		wheelOps(r, all)
	}
	if r.measures("wheel-churn", "wheel-churn-longest") {
		wheelChurn(r, all)
	}
	if r.measures("wheel-fire", "wheel-fire-hour", "wheel-drain", "wheel-pass-longest", "wheel-arm-longest") {
		turns(r, r.few(pick(r, 3, 4)), enter(r, firingMakers(r.n)), func(_ int, e *entrant[func() ([]result, error)]) ([]result, error) { return e.it() })
	}
	return nil
}

// handleBytes is the size of a handle of each structure. It is not counted, because a program may or may not keep
// handles.
var handleBytes = map[string]int{"wheel": 8, "lists": 8, "thw": 16, "std": 8, "heap": 8}

// nsPerOp calls f, which does n operations, and returns the nanoseconds per operation.
func nsPerOp(n int, f func()) value {
	start := time.Now()
	f()
	return value{max(float64(time.Since(start)), 1) / float64(n), "ns/op"}
}

// wheelOps measures the operations on timeouts that do not fire.
func wheelOps(r *run, all []*entrant[structure]) {
	ops := min(r.n/5+1, 200_000)
	key := count(r.n)
	drawn := perRound(func() [2][]int { return [2][]int{rand.Perm(r.n)[:ops], rand.Perm(r.n)[:ops]} })
	turns(r, r.rounds, all, func(round int, e *entrant[structure]) ([]result, error) {
		moved, gone := drawn(round)[0], drawn(round)[1]
		runtime.GC()
		return []result{
			{"wheel-arm-cancel", key, ops, []value{nsPerOp(ops, func() { e.it.armAndCancel(ops) })}},
			{"wheel-rearm", key, ops, []value{nsPerOp(ops, func() { e.it.rearm(moved) })}},
			{"wheel-cancel", key, ops, []value{nsPerOp(ops, func() { e.it.cancel(gone) })}},
			{"wheel-arm", key, ops, []value{nsPerOp(ops, func() { e.it.arm(gone) })}},
		}, nil
	})
}

// wheelChurn re-arms random timers until each has been moved several times. By then the wheel holds as many stale
// words as it ever does.
func wheelChurn(r *run, all []*entrant[structure]) {
	draw := func() []int {
		indexes := make([]int, r.n/2+1)
		for i := range indexes {
			indexes[i] = rand.IntN(r.n)
		}
		return indexes
	}
	for range 8 {
		indexes := draw()
		for _, e := range all {
			if e.name != "std" && e.name != "heap" { // moves leave nothing behind in those two
				e.it.rearm(indexes)
			}
		}
	}
	drawn := perRound(draw)
	key := count(r.n)
	turns(r, r.few(6), all, func(round int, e *entrant[structure]) ([]result, error) {
		indexes := drawn(round)
		return []result{
			{"wheel-churn", key, len(indexes), []value{nsPerOp(len(indexes), func() { e.it.rearm(indexes) })}},
			{"wheel-churn-longest", key, len(indexes), []value{{e.it.longestRearm(indexes), "max-ns"}}},
		}, nil
	})
}

// longestCall calls call for each index and returns the processor time of the longest call, in nanoseconds.
func longestCall(indexes []int, call func(i, k int)) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var most time.Duration
	for i, k := range indexes {
		start := threadCPU()
		call(i, k)
		most = max(most, threadCPU()-start)
	}
	return max(float64(most), 1)
}

// passLimit is the number of entries that a bounded pass takes.
const passLimit = 64

// firingMakers make the structures that can yield all entries, which includes the moves from level to level. The
// standard library fires by the clock, so it has no such operation to compare with.
func firingMakers(n int) []maker[func() ([]result, error)] {
	key := count(n)
	return []maker[func() ([]result, error)]{
		{"wheel", always(func() ([]result, error) { return wheelFire(n), nil })},
		{"lists", always(func() ([]result, error) {
			l := list.New[payload]()
			for i, at := range randomTicks(n) {
				l.Schedule(uint64(at), payload(i))
			}
			return []result{{"wheel-fire", key, n, []value{nsPerOp(n, func() {
				for now := uint64(1); now <= hourTicks; now++ {
					l.Advance(now, func(uint64, payload) {})
				}
			})}}}, nil
		})},
		{"thw", always(func() ([]result, error) {
			fired := 0
			w, fire := newDueTHW(n)
			took := nsPerOp(n, func() { fired = fire() })
			if left := w.Count(); fired != n || left != 0 {
				return nil, fmt.Errorf("%d of %d fired, %d are left", fired, n, left)
			}
			return []result{{"wheel-fire-hour", key, n, []value{took}}}, nil
		})},
	}
}

// filledWheel returns a wheel with n entries at random ticks of the hour.
func filledWheel(n int) *wheel.Wheel[payload] {
	w := wheel.New[payload](0, 0)
	for i, at := range randomTicks(n) {
		w.Schedule(at, payload(i))
	}
	return w
}

// wheelFire measures package wheel.
func wheelFire(n int) []result {
	key := count(n)
	w := wheel.New[payload](0, 0)
	ticks := randomTicks(n)
	runtime.GC() // so that the garbage of earlier work is not swept during the measurement
	grow := longestCall(make([]int, n), func(i, _ int) { w.Schedule(ticks[i], payload(i)) })
	byTick := nsPerOp(n, func() {
		for now := wheel.Tick(1); now <= hourTicks; now++ {
			for range w.Advance(now) {
			}
		}
	})
	w = filledWheel(n)
	inOne := nsPerOp(n, func() {
		for range w.Advance(hourTicks) {
		}
	})
	w = filledWheel(n)
	runtime.GC()
	pass := longestCall(make([]int, n/passLimit+1), func(int, int) {
		left := passLimit
		for range w.Advance(hourTicks) {
			if left--; left == 0 {
				break
			}
		}
	})
	w = filledWheel(n)
	drain := nsPerOp(n, func() {
		for range w.Drain() {
		}
	})
	return []result{
		{"wheel-fire", key, n, []value{byTick}},
		{"wheel-fire-hour", key, n, []value{inOne}},
		{"wheel-drain", key, n, []value{drain}},
		{"wheel-pass-longest", key, n, []value{{pass, "max-ns"}}},
		{"wheel-arm-longest", key, n, []value{{grow, "max-ns"}}},
	}
}

// wheelChurned measures the memory of a wheel after many moves, and what remains of it after most entries were
// cancelled.
func wheelChurned(n int) []result {
	handles := make([]wheel.Handle, n)
	before := heapBytes()
	w := wheel.New[payload](0, 0)
	for i, at := range randomTicks(n) {
		handles[i] = w.Schedule(at, payload(i))
	}
	ticks := randomTicks(1 << 16)
	for i := range 8 * n {
		w.Reschedule(handles[rand.IntN(n)], ticks[i&(len(ticks)-1)])
	}
	churned := float64(max(heapBytes()-before, 1)) / float64(n)
	for _, k := range rand.Perm(n)[:max(0, n-1000)] {
		w.Cancel(handles[k])
	}
	w.Trim(math.MaxInt)
	trimmed := float64(max(heapBytes()-before, 1))
	runtime.KeepAlive(w)
	runtime.KeepAlive(handles)
	return []result{
		{"wheel-memory-churned", count(n), n, []value{{churned, "B/entry"}}},
		{"wheel-memory-trimmed", count(n), n, []value{{trimmed, "B"}}},
	}
}
