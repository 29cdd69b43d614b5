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
		f := &GoFunc{F: NewCallback(func() { close(ran) })}
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
	for range n {
		s.mu.Lock()
		s.armGoFunc(&GoFunc{F: NewCallback(ran.Done)}, eng.Ceil(eng.Now()), false)
	}
	now := eng.Now() + int64(time.Second)
	turn := &turn{now: now, drv: new(driver)}
	for _, want := range []int64{keptMax + 1, keptMax, 4} { // of the next keptMax, one is kept already
		turn.fired = 0
		c, _ := s.pop(turn)
		if turn.fired != want {
			t.Errorf("%d functions were taken, want %d", turn.fired, want)
		}
		if c.fn != nil {
			turn.drv.keep(eng, c.fn)
		}
	}
	turn.drv.startKept(eng)
	testkit.Returns(t, "all functions", ran.Wait)
}
