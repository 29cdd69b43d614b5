package stress_test

import (
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

const (
	microsecond = time.Microsecond
	millisecond = time.Millisecond
	second      = time.Second
	hour        = time.Hour
)

// A stressVariant is a set of options for a runtime under stress.
type stressVariant struct {
	name string
	opts foliot.Options
}

// sideWorkOptions makes rare work frequent: scrubbing, log events, replaced workers.
func sideWorkOptions() foliot.Options {
	return foliot.Options{
		Workers: 4, StaleLimit: 64,
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
		{"Go runs callbacks in several ways", foliot.Options{Workers: 4, Go: goInAnyWay}},
		{"bounded", foliot.Options{Workers: 3, MaxTimers: 200}},
	}
}

// eachVariant runs a subtest for each stress variant.
func eachVariant(t *testing.T, d time.Duration, stress func(*testing.T, foliot.Options, time.Duration)) {
	for _, v := range stressVariants() {
		t.Run(v.name, func(t *testing.T) { stress(t, v.opts, testkit.StressTime(t, d)) })
	}
}

// goInAnyWay runs f in place, on a new goroutine, or later on a new goroutine.
func goInAnyWay(f func()) {
	switch rand.IntN(3) {
	case 0:
		f()
	case 1:
		go f()
	case 2:
		time.AfterFunc(kit.Random(2*millisecond), f)
	}
}

// keepDoing calls f on a new goroutine, again and again, until end is called. end waits for the
// last call to return.
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

// keepResizing changes the number of workers, again and again, until end is called.
func keepResizing(t testing.TB, r *foliot.Runtime) (end func()) {
	return keepDoing(func() {
		if err := r.Resize(1 + rand.IntN(9)); err != nil && err != foliot.ErrClosed {
			t.Errorf("Resize: %v", err)
		}
		time.Sleep(kit.Random(millisecond))
	})
}

var garbage [64]*[512]byte

// keepCollecting makes garbage and collects it, again and again, until end is called. Collections
// shrink stacks, so that goroutines are assigned to other shards.
func keepCollecting() (end func()) {
	return keepDoing(func() {
		for i := range garbage {
			garbage[i] = new([512]byte)
		}
		runtime.GC()
		time.Sleep(2 * millisecond)
	})
}
