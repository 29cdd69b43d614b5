package wheel

import "testing"

// So yieldBucket skips a bounded number of chunks between two yields.
func TestAChunkLeavesTheChainWithItsLastEntry(t *testing.T) {
	const chunks = 1000
	for _, order := range []struct {
		name  string
		index func(i, n int) int
	}{
		{"in order", func(i, _ int) int { return i }},
		{"backwards", func(i, n int) int { return n - 1 - i }},
		{"scattered", func(i, n int) int { return i * 7919 % n }},
	} {
		t.Run(order.name, func(t *testing.T) {
			var w Wheel[int]
			var handles []Handle
			for i := range chunks * chunkRefs {
				handles = append(handles, w.Schedule(100, i))
			}
			first, last := handles[0], handles[len(handles)-1]
			b := bucketOf(&w, first)
			middle := handles[1 : len(handles)-1]
			for i := range middle {
				w.Cancel(middle[order.index(i, len(middle))])
			}
			wantSound(t, &w)
			w.settle()
			wantSound(t, &w)
			if b.chunkCount > 4 {
				t.Errorf("the bucket has %d chunks for 2 entries", b.chunkCount)
			}
			for _, h := range []Handle{first, last} {
				if _, _, ok := w.Lookup(h); !ok {
					t.Error("one of the two remaining entries is lost")
				}
			}
		})
	}
}

func TestTrimUndoesSplitsThatAreNoLongerNeeded(t *testing.T) {
	var w Wheel[int]
	var handles []Handle
	for i := range 3 * bucketLimit {
		handles = append(handles, w.Schedule(Tick(1<<30+i), i))
	}
	full := len(w.nodes) - len(w.freeNodes)
	for _, h := range handles[10:] {
		w.Cancel(h)
	}
	w.Trim(1)
	wantSound(t, &w)
	if left := len(w.nodes) - len(w.freeNodes); left >= full || left != 1 {
		t.Errorf("the wheel has %d nodes for ten entries, and %d when it was full", left, full)
	}
	want := 0
	for _, v := range w.Advance(1 << 31) {
		if v != want {
			t.Fatalf("Advance yields %d, want %d", v, want)
		}
		want++
	}
	if want != 10 {
		t.Errorf("Advance yields %d entries, want 10", want)
	}
}
