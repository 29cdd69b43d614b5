package contexts

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

// A barrier makes goroutines wait until all of them have called wait.
type barrier struct{ missing atomic.Int32 }

func (b *barrier) wait() {
	b.missing.Add(-1)
	for i := 0; b.missing.Load() > 0; i++ {
		if i > 1000 {
			runtime.Gosched()
		}
	}
}

// raceOnce runs two or three goroutines. Each does one action on a chain of contexts whose Done was
// not called before. Then all contexts end. It returns an error if a rule is broken.
func (t *sharedTree) raceOnce(seed uint64) error {
	return t.withRoot(seed, func(first *worker) {
		for range 2 + first.rng.IntN(3) {
			first.addChild(t.nodes[len(t.nodes)-1])
		}
		workers := 2 + int(seed%2)
		var start barrier
		start.missing.Store(int32(workers))
		var running sync.WaitGroup
		for i := range workers {
			w := &worker{t, rand.New(rand.NewPCG(seed, 1+uint64(i)))}
			delay := w.rng.IntN(300)
			running.Go(func() {
				start.wait()
				for range delay {
					start.missing.Load()
				}
				w.actOnce()
			})
		}
		if !doneWithin(*patience, &running) {
			panic("goroutines are blocked\n" + testkit.Stacks())
		}
		first.finishAll(true)
	})
}

// actOnce does one random action. Actions that race with others are more frequent than in act.
func (w *worker) actOnce() {
	n := w.node()
	switch w.rng.IntN(10) {
	case 0, 1:
		w.addWaiter(n)
	case 2, 3:
		n.finish(true)
	case 4:
		w.end(n)
	case 5:
		w.addWaiter(w.addChild(n))
	case 6:
		w.addHook(n)
	case 7:
		w.addHook(n).tryStop()
	case 8:
		w.observe(n, w.rng.Uint32())
	case 9:
		w.poll(n)
	}
}

func TestShortRacesObeyTheRules(t *testing.T) {
	testkit.EachProcs(t, func(t *testing.T) {
		seed, limit := *seedFlag, time.Now().Add(share(2))
		for ; seed < *seedFlag+100 || time.Now().Before(limit); seed++ {
			for _, m := range []makers{allFoliot, mixed, withRuntime} {
				tree := &sharedTree{makers: m, patience: *patience}
				if err := tree.raceOnce(seed); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		}
		t.Logf("%d races", seed-*seedFlag)
	})
}
