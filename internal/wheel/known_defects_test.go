package wheel_test

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/wheel"
)

// Each of these tests finds a defect that other timer wheels had. A tick is a millisecond.
const (
	second = wheel.Tick(time.Second / time.Millisecond)
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

// Defect: the level was chosen by the distance from tick 0 instead of from now. After some uptime,
// short timers were late.
func TestATimerIsExactAfterMonthsOfUptime(t *testing.T) {
	for _, uptime := range []wheel.Tick{0, 20 * minute, 22 * hour, day, 50 * day, 365 * day, 400 * 365 * day} {
		for _, step := range []wheel.Tick{uptime + 1, uptime/1000 + 1, uptime/9973 + 1} {
			var w wheel.Wheel[string]
			w.Schedule(1<<60, "far") // the wheel is never empty
			for w.Now() < uptime {
				w.Schedule(min(w.Now()+step/2, uptime), "on the way")
				for range w.Advance(min(w.Now()+step, uptime)) {
				}
			}
			for _, d := range []wheel.Tick{1, 10, 63, 64, 100, 1000, 1200 * second, day} {
				at := w.Now() + d
				w.Schedule(at, "x")
				for range w.Advance(at - 1) {
					t.Fatalf("a timer of %d ms is early after %d ms of uptime", d, uptime)
				}
				if got := advance(&w, at); !slices.Equal(got, []item[string]{{at, "x"}}) {
					t.Fatalf("a timer of %d ms after %d ms of uptime: got %v, want %v",
						d, uptime, got, []item[string]{{at, "x"}})
				}
			}
		}
	}
}

// Defect: entries did not move down to lower levels. A far timer was only as exact as the level it
// was armed on.
func TestATwentyMinuteTimerIsExactToTheTickWithStepsOfAnySize(t *testing.T) {
	for _, step := range []wheel.Tick{1, 7, 64, 1000, 36 * second, 20 * minute} {
		w := wheel.New[string](123_456, 0)
		at := w.Now() + 1200*second
		w.Schedule(at, "x")
		for w.Now() < at {
			to := w.Now() + step
			for got := range w.Advance(to) {
				if got != at || to < at {
					t.Fatalf("steps of %d: Advance(%d) yields the entry for %d, want %d",
						step, to, got, at)
				}
			}
			if (w.Len() == 0) != (to >= at) {
				t.Fatalf("steps of %d: Len is %d at %d, but the entry is due at %d",
					step, w.Len(), to, at)
			}
		}
	}
}

// Defect: after a compaction, Cancel did not find an entry that was later yielded.
func TestEveryEntryIsEitherCancelledOrYielded(t *testing.T) {
	const n = 60_000
	w := wheel.New[int](0, 0)
	rng := rand.New(rand.NewPCG(9, 9))
	handles, at := make([]wheel.Handle, n), make([]wheel.Tick, n)
	yielded, cancelled := make([]bool, n), make([]bool, n)
	next := 0
	for round := 0; next < n || w.Len() > 0; round++ {
		for range min(600, n-next) {
			at[next] = w.Now() + wheel.Tick(rng.Uint64()>>(44+rng.IntN(20)))
			handles[next] = w.Schedule(at[next], next)
			next++
		}
		for range 900 { // entries that exist and entries that were removed
			i := rng.IntN(next)
			v, ok := w.Cancel(handles[i])
			if ok == (yielded[i] || cancelled[i]) || ok && v != i {
				t.Fatalf("Cancel of %d is %d, %t; yielded %t, cancelled %t",
					i, v, ok, yielded[i], cancelled[i])
			}
			cancelled[i] = cancelled[i] || ok
		}
		to := w.Now() + wheel.Tick(rng.IntN(20_000))
		for tick, v := range w.Advance(to) {
			if yielded[v] || cancelled[v] || tick != at[v] || tick > to {
				t.Fatalf("Advance(%d) yields %d at %d, want %d; yielded before %t, cancelled %t",
					to, v, tick, at[v], yielded[v], cancelled[v])
			}
			yielded[v] = true
		}
		if round%50 == 0 {
			wantSound(t, w)
		}
	}
	for i := range n {
		if yielded[i] == cancelled[i] {
			t.Fatalf("%d: yielded %t, cancelled %t", i, yielded[i], cancelled[i])
		}
	}
}

// Compaction works in small steps. Entries that are removed between two steps must stay removed.
func TestRemovalsInAnyOrderLeaveTheRestInOrder(t *testing.T) {
	const n = 12_000
	orders := map[string]func(rng *rand.Rand, i int) int{
		"forward":         func(_ *rand.Rand, i int) int { return i },
		"backward":        func(_ *rand.Rand, i int) int { return n - 1 - i },
		"from the middle": func(_ *rand.Rand, i int) int { return (i + n/2) % n },
		"scattered":       func(_ *rand.Rand, i int) int { return i * 7919 % n },
		"at random":       func(rng *rand.Rand, _ int) int { return rng.IntN(n) },
	}
	for name, order := range orders {
		for _, spread := range []wheel.Tick{1, 3000} {
			t.Run(name, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(11, 11))
				w := wheel.New[int](0, 0)
				var handles []wheel.Handle
				for i := range n {
					handles = append(handles, w.Schedule(day+wheel.Tick(i)%spread, i))
				}
				// 90 % are cancelled or postponed, then the cancelled ones are armed again.
				for round := range 3 {
					for i := range n * 9 / 10 {
						v := order(rng, i)
						if i%3 == 0 {
							w.Reschedule(handles[v], 2*day+wheel.Tick(v)%spread)
							continue
						}
						w.Cancel(handles[v])
						if _, _, ok := w.Lookup(handles[v]); ok {
							t.Fatalf("round %d: Lookup finds %d after its Cancel", round, v)
						}
					}
					wantSound(t, w)
					for i := range handles {
						if _, _, ok := w.Lookup(handles[i]); !ok {
							handles[i] = w.Schedule(day+wheel.Tick(i)%spread, i)
						}
					}
				}
				wantArmed(t, w, handles)
			})
		}
	}
}

// wantArmed checks that w has exactly the given entries, each with its index as value, and that all
// are yielded at their ticks.
func wantArmed(t *testing.T, w *wheel.Wheel[int], handles []wheel.Handle) {
	t.Helper()
	listed := 0
	for h, v := range w.All() {
		if listed++; handles[v] != h {
			t.Fatalf("All yields %d with a wrong handle", v)
		}
	}
	if listed != len(handles) || w.Len() != len(handles) {
		t.Fatalf("All yields %d and Len is %d, want %d", listed, w.Len(), len(handles))
	}
	want := make([]wheel.Tick, len(handles))
	for i, h := range handles {
		want[i], _, _ = w.Lookup(h)
	}
	yielded := make([]bool, len(handles))
	var last wheel.Tick
	for at, v := range w.Advance(10 * day) {
		if yielded[v] || at != want[v] || at < last {
			t.Fatalf("%d is yielded at %d after one at %d, want it once at %d",
				v, at, last, want[v])
		}
		yielded[v], last = true, at
	}
	if lost := slices.Index(yielded, false); lost >= 0 {
		t.Fatalf("%d was not yielded", lost)
	}
}

// Entries that are armed, moved and removed in blocks leave full and empty chunks, in any order.
func TestChangesInBlocksKeepTheOrder(t *testing.T) {
	type arming struct {
		at  wheel.Tick
		seq int
	}
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(12, seed))
		w := wheel.New[int](0, 0)
		var (
			ticks   = []wheel.Tick{1, 5000, 5001, day, 2 * day}
			handles []wheel.Handle // by entry
			blocks  [][]int        // armed entries
			armed   = map[int]arming{}
			seq     int
		)
		arm := func(i int, at wheel.Tick) {
			seq++
			armed[i] = arming{at, seq}
		}
		for range 1500 {
			at := ticks[rng.IntN(len(ticks))]
			if len(armed) < 2000 {
				var block []int
				for range 1 + rng.IntN(150) {
					i := len(handles)
					handles = append(handles, w.Schedule(at, i))
					block = append(block, i)
					arm(i, at)
				}
				blocks = append(blocks, block)
			}
			k := rng.IntN(len(blocks))
			every, move := 1+rng.IntN(3), rng.IntN(3) == 0
			for j, i := range blocks[k] {
				switch {
				case j%every > 0:
				case move:
					w.Reschedule(handles[i], at)
					arm(i, at)
				default:
					w.Cancel(handles[i])
					delete(armed, i)
				}
			}
			blocks[k] = slices.DeleteFunc(blocks[k], func(i int) bool { return armed[i].seq == 0 })
			if len(blocks[k]) == 0 {
				blocks = slices.Delete(blocks, k, k+1)
			}
		}
		wantSound(t, w)
		want := slices.SortedFunc(maps.Keys(armed), func(i, j int) int {
			return cmp.Or(cmp.Compare(armed[i].at, armed[j].at), cmp.Compare(armed[i].seq, armed[j].seq))
		})
		if got := advanceValues(w, 3*day); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %d of %d entries are yielded, or in another order",
				seed, len(got), len(want))
		}
	}
}

// Defect: new timers went through a queue of fixed length, and a burst of them overflowed it.
func TestABurstLosesNoEntry(t *testing.T) {
	for _, n := range []int{10_000, 1_000_000} {
		w := wheel.New[uint32](0, 0)
		rng := rand.New(rand.NewPCG(10, 10))
		for i := range n {
			w.Schedule(wheel.Tick(rng.IntN(100_000)), uint32(i))
		}
		if w.Len() != n {
			t.Fatalf("Len is %d, want %d", w.Len(), n)
		}
		seen := make([]bool, n)
		var last wheel.Tick
		for at, v := range w.Advance(100_000) {
			if seen[v] || at < last {
				t.Fatalf("%d is yielded twice, or at %d after %d", v, at, last)
			}
			seen[v], last = true, at
		}
		if lost := slices.Index(seen, false); lost >= 0 || w.Len() != 0 {
			t.Fatalf("of %d: %d was not yielded, Len is %d", n, lost, w.Len())
		}
	}
}

// Defect: a cancelled entry was held until its deadline. Len, All and Next still saw it.
func TestCancelledEntriesAreRemovedAtOnce(t *testing.T) {
	w := wheel.New[uint32](0, 0)
	handles := make([]wheel.Handle, 200_000)
	for i := range handles {
		handles[i] = w.Schedule(365*day+wheel.Tick(i), uint32(i))
	}
	for i, h := range handles {
		if v, ok := w.Cancel(h); v != uint32(i) || !ok || w.Len() != len(handles)-i-1 {
			t.Fatalf("Cancel of %d is %d, %t, Len is %d", i, v, ok, w.Len())
		}
	}
	for range w.All() {
		t.Fatal("All yields a cancelled entry")
	}
	if next, ok := w.Next(); ok {
		t.Fatalf("Next is %d", next)
	}
	for range w.Advance(400 * day) {
		t.Fatal("Advance yields a cancelled entry")
	}
	wantSound(t, w)
}
