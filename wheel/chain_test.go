package wheel

import "testing"

// What fire has to step over between two yields is bounded by this.
func TestAChunkLeavesTheChainWithItsLastEntry(t *testing.T) {
	const chunks = 1000
	for _, order := range []struct {
		name string
		at   func(i, n int) int
	}{
		{"in order", func(i, _ int) int { return i }},
		{"backwards", func(i, n int) int { return n - 1 - i }},
		{"all over", func(i, n int) int { return i * 7919 % n }},
	} {
		t.Run(order.name, func(t *testing.T) {
			var w Wheel[int]
			var handles []Handle
			for i := range chunks * chunkWords {
				handles = append(handles, w.Schedule(100, i))
			}
			first, last := handles[0], handles[len(handles)-1]
			b := bucketOf(&w, first)
			middle := handles[1 : len(handles)-1]
			for i := range middle {
				w.Cancel(middle[order.at(i, len(middle))])
			}
			if err := check(&w); err != nil {
				t.Fatal(err)
			}
			if b.size > 4 {
				t.Errorf("%d chunks for 2 entries", b.size)
			}
			for _, h := range []Handle{first, last} {
				if _, _, ok := w.Lookup(h); !ok {
					t.Error("one of the two is gone")
				}
			}
		})
	}
}

func TestTrimUndoesDivisionsThatAreNoLongerCalledFor(t *testing.T) {
	var w Wheel[int]
	var handles []Handle
	for i := range 3 * bucketMax {
		handles = append(handles, w.Schedule(Tick(1<<30+i), i))
	}
	divided := len(w.nodes) - len(w.spare)
	for _, h := range handles[10:] {
		w.Cancel(h)
	}
	w.Trim(1)
	if err := check(&w); err != nil {
		t.Fatal(err)
	}
	if left := len(w.nodes) - len(w.spare); left >= divided || left != 1 {
		t.Errorf("%d nodes for ten entries, %d when it was full", left, divided)
	}
	want := 0
	for _, v := range w.Advance(1 << 31) {
		if v != want {
			t.Fatalf("yields %d, want %d", v, want)
		}
		want++
	}
	if want != 10 {
		t.Errorf("%d entries left, want 10", want)
	}
}
