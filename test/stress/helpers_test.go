package stress_test

import (
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
)

const (
	microsecond = time.Microsecond
	millisecond = time.Millisecond
	second      = time.Second
	hour        = time.Hour
)

// A stressVariant is a way to set up a runtime under stress.
type stressVariant struct {
	name string
	o    foliot.Options
}

// everything makes all that happens on the side happen all the time: scrubbing, events, replaced workers.
func everything() foliot.Options {
	return foliot.Options{
		Workers: 4, StaleLimit: 64, ScrubBudget: 512, ScrubInterval: millisecond,
		Logger: slog.New(slog.DiscardHandler), SlowCallback: 5 * millisecond,
	}
}

func stressVariants() []stressVariant {
	return []stressVariant{
		{"one worker", foliot.Options{Workers: 1}},
		{"precise", foliot.Options{Workers: 2, Precise: true}},
		{"slack", foliot.Options{Slack: 2 * millisecond}},
		{"resolution of a nanosecond", foliot.Options{Resolution: 1}},
		{"resolution of milliseconds", foliot.Options{Workers: 3, Resolution: 3 * millisecond}},
		{"Go starts goroutines", foliot.Options{Workers: 2, Go: func(f func()) { go f() }}},
		{"Go does now one thing, now another", foliot.Options{Workers: 4, Go: anyWay}},
		{"bounded", foliot.Options{Workers: 3, MaxTimers: 200}},
	}
}

// anyWay runs f in place, on a goroutine, or later on a goroutine.
func anyWay(f func()) {
	switch rand.IntN(3) {
	case 0:
		f()
	case 1:
		go f()
	case 2:
		time.AfterFunc(kit.Random(2*millisecond), f)
	}
}

// keepDoing runs f on a goroutine, again and again, until the function that it returns is called, which waits for
// the end of the last run.
func keepDoing(f func()) (end func()) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				f()
			}
		}
	})
	return sync.OnceFunc(func() {
		close(stop)
		wg.Wait()
	})
}

// keepResizing changes the number of workers all the time.
func keepResizing(t testing.TB, r *foliot.Runtime) (end func()) {
	return keepDoing(func() {
		if err := r.Resize(1 + rand.IntN(9)); err != nil && err != foliot.ErrClosed {
			t.Errorf("Resize: %v", err)
		}
		time.Sleep(kit.Random(millisecond))
	})
}

var stressGarbage [64]*[512]byte

// keepCollecting makes garbage and has it collected all the time. Stacks shrink with it, and so goroutines change
// the shard that they are at home at.
func keepCollecting() (end func()) {
	return keepDoing(func() {
		for i := range stressGarbage {
			stressGarbage[i] = new([512]byte)
		}
		runtime.GC()
		time.Sleep(2 * millisecond)
	})
}

// pause lets some time pass, mostly none. Without it, nothing but overload would be put to the test: callbacks would
// have fallen behind by so much that nothing is ever waited for.
func pause() {
	switch rand.IntN(64) {
	case 0:
		time.Sleep(kit.Random(4 * millisecond))
	case 1, 2, 3, 4, 5, 6, 7:
		time.Sleep(kit.Random(300 * microsecond))
	}
}
