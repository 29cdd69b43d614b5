package engine

import (
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

// The driver keeps functions while it runs timers. It must start them before it runs a callback
// that may block.
func TestAFunctionRunsAlthoughACallbackOfTheSameTickBlocks(t *testing.T) {
	eng := Default()
	for round := range 20 {
		ran, release := make(chan struct{}), make(chan struct{})
		var blocked sync.WaitGroup
		blocked.Add(2)
		block := func() {
			<-release
			blocked.Done()
		}
		const d = 2 * time.Millisecond
		f := &GoFunc{F: CallbackOf(func() { close(ran) })}
		for i := range 3 {
			if i == round%3 {
				if !f.Start(d) {
					t.Fatal("Start returns false")
				}
			} else if _, err := eng.AfterFunc(d, block); err != nil {
				t.Fatal(err)
			}
		}
		testkit.Receive(t, ran, "the function")
		close(release)
		blocked.Wait()
	}
}

// The driver locks the shard once for as many functions as it can keep, and one more.
func TestTheDriverTakesFunctionsFromTheWheelInBatches(t *testing.T) {
	eng := newSharedEngine(t, Config{Workers: 1})
	withoutDriver(eng)
	s := (*eng.openShards.Load())[0]
	const n = 2*keptMax + 5
	var ran sync.WaitGroup
	ran.Add(n)
	s.mu.Lock()
	for range n {
		s.armGoFunc(&GoFunc{F: CallbackOf(ran.Done)}, eng.Now(), false)
	}
	s.mu.Unlock()
	now := eng.Now() + int64(time.Second)
	var kept keptFuncs
	for _, want := range []int64{keptMax + 1, keptMax, 4} { // of the next keptMax, one is kept already
		c, fired := s.pop(now, nil, &kept)
		if fired != want {
			t.Errorf("%d functions were taken, want %d", fired, want)
		}
		if c.fn != nil {
			kept.keep(eng, c.fn)
		}
	}
	kept.start(eng)
	testkit.Returns(t, "all functions", ran.Wait)
}
