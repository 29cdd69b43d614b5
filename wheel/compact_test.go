package wheel

import (
	"math"
	"math/bits"
	"testing"
)

// thicket is a wheel with dead words in many buckets, and the handles of its entries, by payload.
type thicket struct {
	*Wheel[int]
	handles []Handle
}

// newThicket arms n entries, the first at a tick and each of the others a step later, and cancels all but every
// keep-th.
func newThicket(n int, at, step Tick, keep int) thicket {
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
	return thicket{w, handles}
}

// buckets returns the buckets that hold entries.
func (t thicket) buckets() (buckets []*bucket) {
	for _, n := range t.nodes {
		if n == nil {
			continue
		}
		for left := n.occupied &^ n.open; left != 0; left &= left - 1 {
			buckets = append(buckets, &n.branch[bits.TrailingZeros64(left)])
		}
	}
	return buckets
}

// chunksInUse counts the chunks of all buckets.
func (t thicket) chunksInUse() (chunks int) {
	for _, b := range t.buckets() {
		chunks += int(b.size)
	}
	return chunks
}

// dead counts the dead words of a bucket, one by one.
func (t thicket) deadWords(b *bucket) (dead int) {
	c := b.head
	for left := b.size; left > 0; left-- {
		for k := uint32(chunkFirst); k < 32 && (left > 1 || c<<5|k != b.end); k++ {
			dead += int(t.marks[c].dead >> k & 1)
		}
		c = t.chunks.get(c)[chunkNext]
	}
	return dead
}

// wantTidy checks that each bucket has as few dead words as Compact promises to leave.
func (t thicket) wantTidy(tb testing.TB) {
	tb.Helper()
	for i, b := range t.buckets() {
		if dead := t.deadWords(b); dead >= 2*chunkWords {
			tb.Fatalf("bucket %d, of %d entries, has %d dead words", i, b.live, dead)
		}
	}
}

// wantInOrder checks that the wheel is sound and holds exactly every keep-th entry, and yields them in order.
func (t thicket) wantInOrder(tb testing.TB, keep int) {
	tb.Helper()
	if err := check(t.Wheel); err != nil {
		tb.Fatal(err)
	}
	want := 0
	for _, v := range t.Advance(math.MaxUint64) {
		if v != want {
			tb.Fatalf("got %d, want %d", v, want)
		}
		want += keep
	}
	if want < len(t.handles) || t.Len() != 0 {
		tb.Fatalf("%d is missing, Len %d", want, t.Len())
	}
}

func TestStaleIsTheNumberOfDeadWords(t *testing.T) {
	w := New[int](0, 0)
	want := func(stale int) {
		t.Helper()
		if got := w.Stale(); got != stale {
			t.Fatalf("Stale is %d, want %d", got, stale)
		}
		if err := check(w); err != nil { // counts for itself
			t.Fatal(err)
		}
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
	w.Reschedule(handles[20], 1<<20) // at the end: its old place stays dead
	want(2)
	w.Reschedule(handles[30], 1<<40) // to another bucket
	want(3)
	w.Cancel(handles[20]) // the last of its bucket: the bucket gets shorter
	want(3)
	h, _, _ := w.Pop(1 << 20) // to find it, the bucket was spread, which leaves dead words behind
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

func TestWithoutArmedEntriesStaleIsZero(t *testing.T) {
	for name, end := range map[string]func(w thicket){
		"cancelled": func(w thicket) {
			for _, h := range w.handles {
				w.Cancel(h)
			}
		},
		"parked": func(w thicket) {
			for _, h := range w.handles {
				w.Park(h)
			}
		},
		"popped": func(w thicket) {
			for _, _, ok := w.Pop(math.MaxUint64); ok; _, _, ok = w.Pop(0) {
			}
		},
		"fired": func(w thicket) {
			for range w.Advance(math.MaxUint64) {
			}
		},
		"drained": func(w thicket) {
			for range w.Drain() {
			}
		},
	} {
		for _, keep := range []int{1, 2, 40} {
			w := newThicket(20_000, 1<<20, 3, keep)
			if stale := w.Stale(); keep > 1 && stale == 0 {
				t.Fatalf("keep %d: Stale is 0 to begin with: this test shows nothing", keep)
			}
			if end(w); w.Stale() != 0 {
				t.Errorf("%s, keep %d: Stale is %d", name, keep, w.Stale())
			}
			if removed := w.Compact(math.MaxInt); removed != 0 {
				t.Errorf("%s, keep %d: Compact finds %d dead words", name, keep, removed)
			}
		}
	}
}

func TestCompactLeavesFewerThan60DeadWordsABucket(t *testing.T) {
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
			w := newThicket(c.n, c.at, c.step, keep)
			before := w.Stale()
			if buckets := len(w.buckets()); before < c.n/5 || before < buckets*2*chunkWords {
				t.Fatalf("Stale is %d in %d buckets: this test shows nothing", before, buckets)
			}
			removed := w.Compact(math.MaxInt)
			w.wantTidy(t)
			if after := w.Stale(); before-after != removed || after >= len(w.buckets())*2*chunkWords {
				t.Errorf("Compact is %d, Stale went from %d to %d in %d buckets", removed, before, after, len(w.buckets()))
			}
			if again := w.Compact(math.MaxInt); again != 0 {
				t.Errorf("Compact finds %d more", again)
			}
			w.wantInOrder(t, keep)
		})
	}
}

// A sweep that is under way goes on where it stopped, and then there are the words that died behind its back.
func TestCompactSeesToWhatDiedBehindASweep(t *testing.T) {
	w := newThicket(300*chunkWords, 5, 0, 1)
	w.Schedule(63, 0) // the highest branch of the node: Compact has to look at all of them
	for i, h := range w.handles {
		if i%8 != 0 {
			w.Cancel(h)
		}
	}
	b := bucketOf(w.Wheel, w.handles[0])
	w.Compact(1)
	if w.chunks.get(b.head)[chunkSweep] == 0 || w.Stale() < 10*chunkWords {
		t.Fatalf("no sweep is under way, or Stale is %d: this test shows nothing", w.Stale())
	}
	for i := 8; i < 64*chunkWords; i += 16 {
		w.Cancel(w.handles[i])
	}
	w.Compact(math.MaxInt)
	w.wantTidy(t)
	if err := check(w.Wheel); err != nil {
		t.Fatal(err)
	}
}

func TestCompactDoesABoundedAmountOfWork(t *testing.T) {
	for _, c := range []struct{ n, sweeps int }{
		{math.MinInt, 0}, {-1, 0}, {0, 0}, {1, 1}, {sweepChunks, 1}, {sweepChunks + 1, 2}, {10 * sweepChunks, 10},
	} {
		for name, w := range map[string]thicket{
			"many buckets": newThicket(100_000, 1<<30, 1, 2),
			"one bucket":   newThicket(100_000, 5, 0, 2),
		} {
			chunks, moved := w.chunksInUse(), w.moved
			removed := w.Compact(c.n)
			sweeps, freed := int(w.moved-moved), chunks-w.chunksInUse()
			if sweeps != c.sweeps || freed > sweeps*sweepChunks || removed != freed*chunkWords || freed == 0 && c.n > 0 {
				t.Errorf("%s: Compact(%d) is %d: %d sweeps, want %d, and %d chunks less", name, c.n, removed, sweeps, c.sweeps, freed)
			}
			w.wantInOrder(t, 2)
		}
	}
}

func TestCompactTakesTurnsUntilAllIsTidy(t *testing.T) {
	const n, keep = 100_000, 3
	for _, step := range []Tick{0, 1, 50, 5000} {
		w := newThicket(n, 1<<30, step, keep)
		calls := 0
		for limit := w.chunksInUse()/sweepChunks + len(w.buckets()) + 1; w.Compact(1) > 0; calls++ {
			if calls > limit {
				t.Fatalf("step %d: not done after %d calls for %d chunks", step, calls, n/chunkWords)
			}
		}
		w.wantTidy(t)
		moved := w.moved
		for range 100 {
			if removed := w.Compact(1); removed != 0 || w.moved != moved {
				t.Fatalf("step %d: with nothing to do Compact is %d, and moves words", step, removed)
			}
		}
		w.wantInOrder(t, keep)
	}
}

func TestCompactGoesOnWithNodesThatComeAndGo(t *testing.T) {
	w := newThicket(100_000, 1<<30, 1, 2)
	for calls := 0; w.Len() > 10; calls++ {
		w.Compact(1)
		for i := range 5000 {
			w.Cancel(w.handles[(calls*5000+i)%len(w.handles)])
		}
		if calls%5 == 0 {
			w.Trim(math.MaxInt)
		}
		if err := check(w.Wheel); err != nil {
			t.Fatal(err)
		}
	}
	w.Compact(math.MaxInt)
	w.wantTidy(t)
}

func TestCompactInTheBodyKeepsTheOrder(t *testing.T) {
	const n, keep = 30_000, 3
	for _, pass := range []string{"Advance", "Drain"} {
		for _, budget := range []int{1, 1000, math.MaxInt} {
			w := newThicket(n, 5, 0, keep)
			seq := w.Advance(5)
			if pass == "Drain" {
				seq = w.Drain()
			}
			want, armed := 0, 0
			for _, v := range seq {
				if v != want {
					t.Fatalf("%s, Compact(%d): got %d, want %d", pass, budget, v, want)
				}
				if want += keep; want%7 == 0 { // punches further holes
					w.Cancel(w.handles[want])
					want += keep
				}
				if v%10 == 0 && pass == "Advance" { // due at once: waits behind the fence
					w.Schedule(0, n+armed)
					armed++
				}
				w.Compact(budget)
			}
			if err := check(w.Wheel); err != nil {
				t.Fatal(err)
			}
			if want < n || w.Len() != armed {
				t.Fatalf("%s, Compact(%d): %d is missing, Len %d, want %d", pass, budget, want, w.Len(), armed)
			}
			next := n
			for _, v := range w.Advance(5) {
				if v != next {
					t.Fatalf("what the body armed: got %d, want %d", v, next)
				}
				next++
			}
		}
	}
}
