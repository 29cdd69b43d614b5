package loop

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
)

// checkPools fails the test if a chunk in a pool is not empty.
func checkPools(t *testing.T, l *Loop) {
	t.Helper()
	q := &l.state.Load().queue
	for _, c := range slices.Concat(q.pool, l.inbox.pool) {
		if c.n != 0 {
			t.Fatalf("a chunk in a pool has %d slots in use", c.n)
		}
		for i, f := range c.calls {
			if f != nil {
				t.Fatalf("a chunk in a pool has a callback in slot %d", i)
			}
		}
	}
}

// checkLive fails the test if live is not the number of callbacks in the list.
func checkLive(t *testing.T, l *chunkList) {
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
		t.Fatalf("the list has %d callbacks, live returns %d", n, l.live())
	}
}

func TestAlternatingPostsAndCallSoonsShareChunks(t *testing.T) {
	l := New(Options{})
	const n = 10_000
	ran := 0
	expect := func(i int) func() {
		return func() {
			if ran != i {
				t.Fatalf("callback %d was called, want %d", i, ran)
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
		t.Errorf("%d of %d callbacks were called", ran, n)
	}
	checkPools(t, l)
}

// Chunks of the inbox come between those of the queue, have unused slots, and are reused
// in another order. A handle must find its own callback nevertheless, and no other.
func TestHandlesFindTheirCallbacksInAnyChunk(t *testing.T) {
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
				batch := slices.Repeat([]func(){noop}, rnd.IntN(3)*50)
				l.PostBatch(append(batch, call))
				handles = append(handles, Handle{})
			default:
				handles = append(handles, l.CallSoon(call))
			}
		}
		for _, h := range stale {
			if h.Pending() || h.Cancel() {
				t.Fatalf("the stale handle %v finds a callback", h)
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
					t.Fatalf("%v is not cancelled exactly once", h)
				}
			} else {
				want = append(want, i)
			}
			stale = append(stale, h)
		}
		l.CallSoon(noop) // collects what was posted
		checkLive(t, &l.state.Load().queue.waiting)
		for more := true; more; {
			_, more = l.Step()
		}
		if !slices.Equal(got, want) {
			t.Fatalf("the callbacks %v were called, want %v", got, want)
		}
		checkPools(t, l)
	}
}

func TestABurstLikeTheLastDoesNotAllocate(t *testing.T) {
	l := New(Options{})
	batch := slices.Repeat([]func(){noop}, 1000)
	round := func() {
		l.PostBatch(batch)
		for range 1000 {
			l.Post(noop)
			l.CallSoon(noop)
		}
		l.Step()
	}
	for range 10 {
		round()
	}
	if n := testkit.AllocsPerRun(t, 50, round); n != 0 {
		t.Errorf("a burst makes %v allocations, want 0", n)
	}
}
