package loop

import (
	"math/rand/v2"
	"testing"
)

// checkStocks fails unless chunks that are to be used again are empty.
func checkStocks(t *testing.T, l *Loop) {
	t.Helper()
	q := &l.state.Load().queue
	for _, c := range append(append(chunkPool{}, q.pool...), l.inbox.pool...) {
		if c.n != 0 {
			t.Fatalf("a chunk in stock has %d places used", c.n)
		}
		for i, f := range c.calls {
			if f != nil {
				t.Fatalf("a chunk in stock has a callback at place %d", i)
			}
		}
	}
}

// checkCount fails unless a list knows how many callbacks it has.
func checkCount(t *testing.T, l *chunkList) {
	t.Helper()
	n := 0
	for _, c := range l.chunks {
		for _, f := range c.calls {
			if f != nil {
				n++
			}
		}
	}
	if n != l.live() {
		t.Fatalf("%d callbacks wait, and are counted as %d", n, l.live())
	}
}

func TestPostsAndCallSoonsInTurnShareChunks(t *testing.T) {
	l := New(Options{})
	const n = 10_000
	ran := 0
	expect := func(i int) func() {
		return func() {
			if ran != i {
				t.Fatalf("callback %d was called when it was the turn of %d", i, ran)
			}
			ran++
		}
	}
	for i := range n / 2 {
		l.Post(expect(2 * i))
		l.CallSoon(expect(2*i + 1))
	}
	if chunks := len(l.state.Load().queue.waiting.chunks); chunks > 2*n/chunkSlots+2 {
		t.Errorf("%d callbacks take %d chunks", n, chunks)
	}
	l.Step()
	if ran != n {
		t.Errorf("%d of %d were called", ran, n)
	}
	checkStocks(t, l)
}

// Chunks of the inbox come between those of the queue with places left over, and are used again in another
// order. Handles must find their callbacks all the same, and no others.
func TestHandlesFindTheirCallbacksInWhateverChunkTheyAre(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	l := New(Options{})
	var stale []Handle
	for range 300 {
		var want, got []int
		var handles []Handle
		for i := range rnd.IntN(500) {
			call := func() { got = append(got, i) }
			switch rnd.IntN(5) {
			case 0:
				l.Post(call)
				handles = append(handles, Handle{})
			case 1:
				batch := make([]func(), rnd.IntN(3)*50)
				for j := range batch {
					batch[j] = idle
				}
				l.PostBatch(append(batch, call))
				handles = append(handles, Handle{})
			default:
				handles = append(handles, l.CallSoon(call))
			}
		}
		for _, h := range stale {
			if h.Pending() || h.Cancel() {
				t.Fatalf("a stale handle finds a callback: %v", h)
			}
		}
		stale = stale[:0]
		for i, h := range handles {
			if h == (Handle{}) {
				want = append(want, i)
				continue
			}
			if rnd.IntN(3) == 0 {
				if !h.Pending() || !h.Cancel() || h.Pending() || h.Cancel() {
					t.Fatalf("%v is not cancelled once", h)
				}
			} else {
				want = append(want, i)
			}
			stale = append(stale, h)
		}
		l.CallSoon(idle) // collects what was posted
		checkCount(t, &l.state.Load().queue.waiting)
		for wantsMore := true; wantsMore; {
			_, wantsMore = l.Step()
		}
		if len(got) != len(want) {
			t.Fatalf("%d callbacks were called, want %d", len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("the call of number %d is %d, want %d", i, got[i], want[i])
			}
		}
		checkStocks(t, l)
	}
}

func TestABurstLikeTheLastDoesNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	l := New(Options{})
	batch := make([]func(), 1000)
	for i := range batch {
		batch[i] = idle
	}
	round := func() {
		l.PostBatch(batch)
		for range 1000 {
			l.Post(idle)
			l.CallSoon(idle)
		}
		l.Step()
	}
	for range 10 {
		round()
	}
	if n := testing.AllocsPerRun(50, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
