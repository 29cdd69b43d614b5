package wheel

import (
	"math"
	"math/bits"
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
)

// A sparseWheel is a wheel with dead refs in many buckets, and the handles of its entries by
// value.
type sparseWheel struct {
	*Wheel[int]
	handles []Handle
}

// newSparseWheel arms n entries, the first at a tick and each of the others a step later. Then
// it cancels all but every keep-th.
func newSparseWheel(n int, at, step Tick, keep int) sparseWheel {
	w := New[int](0, n)
	handles := make([]Handle, n)
	for i := range handles {
		handles[i] = w.Schedule(at+Tick(i)*step, i)
	}
	for i, h := range handles {
		if i%keep != 0 {
			w.Cancel(h)
		}
	}
	w.settle()
	return sparseWheel{w, handles}
}

// buckets returns the buckets that hold entries.
func (w sparseWheel) buckets() (buckets []*bucket) {
	for _, n := range w.nodes {
		if n == nil {
			continue
		}
		for left := n.occupied &^ n.split; left != 0; left &= left - 1 {
			buckets = append(buckets, &n.branch[bits.TrailingZeros64(left)])
		}
	}
	return buckets
}

// chunksInUse returns the number of chunks of all buckets.
func (w sparseWheel) chunksInUse() (chunks int) {
	for _, b := range w.buckets() {
		chunks += int(b.chunkCount)
	}
	return chunks
}

// wantCompact checks that each bucket has as few dead refs as Compact promises.
func (w sparseWheel) wantCompact(t testing.TB) {
	t.Helper()
	for i, b := range w.buckets() {
		dead := 0
		for _, live := range refsOf(w.Wheel, b) {
			if !live {
				dead++
			}
		}
		if dead >= 2*chunkRefs {
			t.Fatalf("bucket %d, of %d entries, has %d dead refs", i, b.live, dead)
		}
	}
}

// wantInOrder checks that the wheel is sound, that it holds exactly every keep-th entry, and
// that it yields them in order.
func (w sparseWheel) wantInOrder(t testing.TB, keep int) {
	t.Helper()
	wantSound(t, w.Wheel)
	want := 0
	for _, v := range w.Advance(math.MaxUint64) {
		if v != want {
			t.Fatalf("got %d, want %d", v, want)
		}
		want += keep
	}
	if want < len(w.handles) || w.Len() != 0 {
		t.Fatalf("entry %d is missing, Len is %d", want, w.Len())
	}
}

func TestStaleIsTheNumberOfDeadRefs(t *testing.T) {
	w := New[int](0, 0)
	want := func(stale int) {
		t.Helper()
		if got := w.Stale(); got != stale {
			t.Fatalf("Stale is %d, want %d", got, stale)
		}
		wantSound(t, w) // counts the dead refs too
	}
	want(0)
	var handles []Handle
	for i := range 100 {
		handles = append(handles, w.Schedule(1<<20, i))
	}
	want(0)
	w.Cancel(handles[10])
	want(1)
	w.Park(handles[20])
	want(2)
	w.Reschedule(handles[20], 1<<20) // its new ref is the last; the old one stays dead
	want(2)
	w.Reschedule(handles[30], 1<<40) // to another bucket
	want(3)
	w.Cancel(handles[20]) // the last ref of its bucket: the bucket gets shorter
	want(3)
	h, _, _ := w.Pop(1 << 20) // redistributes the bucket, which removes its dead refs
	want(1)
	w.Reschedule(h, 1<<40)
	w.Pop(1 << 20)
	want(2)
	for range w.Advance(1 << 20) {
	}
	want(0)
	w.Schedule(1<<40, 0)
	w.Cancel(handles[30])
	want(1)
	for range w.Drain() {
	}
	want(0)
}

func TestStaleIsZeroWithoutArmedEntries(t *testing.T) {
	for name, disarm := range map[string]func(w sparseWheel){
		"cancelled": func(w sparseWheel) {
			for _, h := range w.handles {
				w.Cancel(h)
			}
		},
		"parked": func(w sparseWheel) {
			for _, h := range w.handles {
				w.Park(h)
			}
		},
		"popped": func(w sparseWheel) {
			for _, _, ok := w.Pop(math.MaxUint64); ok; _, _, ok = w.Pop(0) {
			}
		},
		"yielded": func(w sparseWheel) {
			for range w.Advance(math.MaxUint64) {
			}
		},
		"drained": func(w sparseWheel) {
			for range w.Drain() {
			}
		},
	} {
		for _, keep := range []int{1, 2, 40} {
			w := newSparseWheel(20_000, 1<<20, 3, keep)
			if stale := w.Stale(); keep > 1 && stale == 0 {
				t.Fatalf("keep %d: Stale is 0 at the start, so the test checks nothing", keep)
			}
			if disarm(w); w.Stale() != 0 {
				t.Errorf("%s, keep %d: Stale is %d, want 0", name, keep, w.Stale())
			}
			if removed := w.Compact(math.MaxInt); removed != 0 {
				t.Errorf("%s, keep %d: Compact removes %d dead refs", name, keep, removed)
			}
		}
	}
}

func TestCompactLeavesFewerThan60DeadRefsPerBucket(t *testing.T) {
	testkit.SkipIfShort(t)
	const million = 1_000_000
	for _, c := range []struct {
		name     string
		n        int
		at, step Tick
	}{
		{"a million far entries", million, 1 << 40, 1},
		{"a million far entries on one tick", million, 1 << 40, 0},
		{"a million entries on one near tick", million, 5, 0},
		{"some in each bucket of a node", 40_000, 1, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			const keep = 2
			w := newSparseWheel(c.n, c.at, c.step, keep)
			before := w.Stale()
			if buckets := len(w.buckets()); before < c.n/5 || before < buckets*2*chunkRefs {
				t.Fatalf("Stale is %d in %d buckets, so the test checks nothing", before, buckets)
			}
			removed := w.Compact(math.MaxInt)
			w.wantCompact(t)
			if after := w.Stale(); before-after != removed || after >= len(w.buckets())*2*chunkRefs {
				t.Errorf("Compact returns %d, Stale changes from %d to %d in %d buckets",
					removed, before, after, len(w.buckets()))
			}
			if again := w.Compact(math.MaxInt); again != 0 {
				t.Errorf("a second Compact removes %d more", again)
			}
			w.wantInOrder(t, keep)
		})
	}
}

// A compaction continues where it stopped. Compact must also find refs before that position that
// have died since.
func TestCompactFindsRefsThatDiedBeforeTheFillPosition(t *testing.T) {
	w := newSparseWheel(300*chunkRefs, 5, 0, 1)
	w.Schedule(63, 0) // in the highest branch of the node: Compact must look at all branches
	for i, h := range w.handles {
		if i%8 != 0 {
			w.Cancel(h)
		}
	}
	b := bucketOf(w.Wheel, w.handles[0])
	w.Compact(1)
	if w.fillPos(b) == 0 || w.Stale() < 10*chunkRefs {
		t.Fatalf("the fill position is %d and Stale is %d, so the test checks nothing",
			w.fillPos(b), w.Stale())
	}
	for i := 8; i < 64*chunkRefs; i += 16 {
		w.Cancel(w.handles[i])
	}
	w.Compact(math.MaxInt)
	w.wantCompact(t)
	wantSound(t, w.Wheel)
}

func TestCompactDoesABoundedAmountOfWork(t *testing.T) {
	testkit.SkipIfShort(t)
	for _, c := range []struct{ n, steps int }{
		{math.MinInt, 0}, {-1, 0}, {0, 0}, {1, 1}, {compactChunks, 1}, {compactChunks + 1, 2}, {10 * compactChunks, 10},
	} {
		for name, w := range map[string]sparseWheel{
			"many buckets": newSparseWheel(100_000, 1<<30, 1, 2),
			"one bucket":   newSparseWheel(100_000, 5, 0, 2),
		} {
			chunks, version := w.chunksInUse(), w.chainVersion
			removed := w.Compact(c.n)
			steps, freed := int(w.chainVersion-version), chunks-w.chunksInUse()
			if steps != c.steps || freed > steps*compactChunks || removed != freed*chunkRefs || freed == 0 && c.n > 0 {
				t.Errorf("%s: Compact(%d) returns %d after %d steps, want %d; it freed %d chunks",
					name, c.n, removed, steps, c.steps, freed)
			}
			w.wantInOrder(t, 2)
		}
	}
}

func TestRepeatedCompactReachesEveryBucket(t *testing.T) {
	testkit.SkipIfShort(t)
	const n, keep = 100_000, 3
	for _, step := range []Tick{0, 1, 50, 5000} {
		w := newSparseWheel(n, 1<<30, step, keep)
		calls := 0
		for limit := w.chunksInUse()/compactChunks + len(w.buckets()) + 1; w.Compact(1) > 0; calls++ {
			if calls > limit {
				t.Fatalf("step %d: not done after %d calls for %d chunks", step, calls, n/chunkRefs)
			}
		}
		w.wantCompact(t)
		version := w.chainVersion
		for range 100 {
			if removed := w.Compact(1); removed != 0 || w.chainVersion != version {
				t.Fatalf("step %d: with nothing to do Compact returns %d, or it moves refs",
					step, removed)
			}
		}
		w.wantInOrder(t, keep)
	}
}

func TestCompactContinuesWhenNodesAreAddedAndRemoved(t *testing.T) {
	w := newSparseWheel(100_000, 1<<30, 1, 2)
	for calls := 0; w.Len() > 10; calls++ {
		w.Compact(1)
		for i := range 5000 {
			w.Cancel(w.handles[(calls*5000+i)%len(w.handles)])
		}
		if calls%5 == 0 {
			w.Trim(math.MaxInt)
		}
		wantSound(t, w.Wheel)
	}
	w.Compact(math.MaxInt)
	w.wantCompact(t)
}

func TestCompactInTheBodyKeepsTheOrder(t *testing.T) {
	const n, keep = 30_000, 3
	for _, pass := range []string{"Advance", "Drain"} {
		for _, budget := range []int{1, 1000, math.MaxInt} {
			w := newSparseWheel(n, 5, 0, keep)
			seq := w.Advance(5)
			if pass == "Drain" {
				seq = w.Drain()
			}
			want, armed := 0, 0
			for _, v := range seq {
				if v != want {
					t.Fatalf("%s, Compact(%d): got %d, want %d", pass, budget, v, want)
				}
				if want += keep; want%7 == 0 { // more dead refs
					w.Cancel(w.handles[want])
					want += keep
				}
				if v%10 == 0 && pass == "Advance" { // due at once, so it is deferred
					w.Schedule(0, n+armed)
					armed++
				}
				w.Compact(budget)
			}
			wantSound(t, w.Wheel)
			if want < n || w.Len() != armed {
				t.Fatalf("%s, Compact(%d): entry %d is missing, Len is %d, want %d",
					pass, budget, want, w.Len(), armed)
			}
			next := n
			for _, v := range w.Advance(5) {
				if v != next {
					t.Fatalf("entries armed in the body: got %d, want %d", v, next)
				}
				next++
			}
		}
	}
}
