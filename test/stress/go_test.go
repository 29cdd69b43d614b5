package stress_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
)

// unreliableGo returns an Options.Go that does everything a user's function may do: run the
// callback on this goroutine or another, at once or late, block for a while, panic or call Goexit.
func unreliableGo() func(f func()) {
	slots := make(chan struct{}, 4)
	return func(f func()) {
		switch n := rand.IntN(1000); {
		case n < 5:
			panic("the pool is broken")
		case n < 10:
			runtime.Goexit()
		case n < 300:
			f()
		case n < 400:
			go func() {
				time.Sleep(kit.Random(3 * millisecond))
				f()
			}()
		default:
			slots <- struct{}{} // blocks while four run
			go func() {
				defer func() { <-slots }()
				f()
			}()
		}
	}
}

// Every arming runs once, is stopped, or is counted by Shutdown.
func TestWithAnUnreliableOptionsGoNoTimerIsLostOrRunsTwice(t *testing.T) {
	r, err := foliot.New(foliot.Options{
		Workers: 2, Go: unreliableGo(), OnPanic: func(any, []byte) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	var armed, ran, stopped atomic.Int64
	callback := func() {
		ran.Add(1)
		if rand.IntN(50) == 0 {
			time.Sleep(kit.Random(10 * millisecond))
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for end := time.Now().Add(second); time.Now().Before(end); {
				timer, err := r.AfterFunc(kit.Random(5*millisecond), callback)
				if err != nil {
					t.Error(err)
					return
				}
				armed.Add(1)
				if rand.IntN(3) == 0 && timer.Stop() {
					stopped.Add(1)
				}
				if rand.IntN(100) == 0 {
					time.Sleep(kit.Random(5 * millisecond))
				}
			}
		})
	}
	wg.Wait()
	left := kit.Shutdown(t, r)
	if got := ran.Load() + stopped.Load() + int64(left); got != armed.Load() {
		t.Errorf("%d ran + %d stopped + %d left = %d, want %d armings",
			ran.Load(), stopped.Load(), left, got, armed.Load())
	}
	if st := r.Stats(); st.GoPending != 0 || st.Goroutines != 0 || int64(st.Fired) != ran.Load() {
		t.Errorf("GoPending is %d, Goroutines is %d, Fired is %d, want 0, 0, %d",
			st.GoPending, st.Goroutines, st.Fired, ran.Load())
	}
	t.Logf("%d armed, %d ran, %d left", armed.Load(), ran.Load(), left)
}
