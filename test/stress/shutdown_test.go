package stress_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// stressShutdown shuts a runtime down while goroutines and callbacks use it.
func stressShutdown(t *testing.T, opts foliot.Options) {
	ss := newSerialTimers(t, opts, 20)
	ends := []func(){ss.keepChecking(), keepResizing(t, ss.r)}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { ss.operateUntil(ss.now() + int64(testkit.Timeout)) })
		wg.Go(func() { ss.useOneShots(ss.now() + int64(testkit.Timeout)) })
	}
	time.Sleep(kit.Random(40 * millisecond))
	ss.closing.Store(true)
	var left int
	if rand.IntN(2) == 0 {
		left = kit.Shutdown(t, ss.r)
	} else {
		left = shutdownWithShortTimeouts(t, ss.r)
	}
	ss.closed.Store(true)
	if n := ss.running.Load(); n != 0 {
		t.Errorf("%d callbacks run after Shutdown has returned, want 0", n)
	}
	ran := ss.ran.Load()
	wg.Wait()
	for _, end := range ends {
		end()
	}
	ss.checkClosed(left)
	time.Sleep(kit.Random(5 * millisecond)) // a late callback would run now
	if got := ss.ran.Load(); got != ran {
		t.Errorf("%d callbacks ran after Shutdown had returned, want 0", got-ran)
	}
}

// shutdownWithShortTimeouts calls Shutdown with contexts that end too early, until it succeeds.
// All calls must return the same number of armed timers.
func shutdownWithShortTimeouts(t *testing.T, r *foliot.Runtime) int {
	t.Helper()
	first := -1
	for begin := time.Now(); time.Since(begin) < testkit.Timeout; {
		ctx, cancel := context.WithTimeout(context.Background(), kit.Random(millisecond))
		armed, err := r.Shutdown(ctx)
		cancel()
		if first < 0 {
			first = armed
		}
		if armed != first {
			t.Errorf("Shutdown returns %d, want %d as the first time", armed, first)
		}
		if err == nil {
			return armed
		}
	}
	t.Fatalf("Shutdown has not succeeded in %v\n%s", testkit.Timeout, testkit.Stacks())
	return 0
}

// checkClosed compares the counts with the Stats of a runtime that was closed under load. left is
// the result of Shutdown.
func (ss *serialTimers) checkClosed(left int) {
	ss.t.Helper()
	st := ss.r.Stats()
	armed, ran := ss.armed.Load(), ss.ran.Load()
	if got := ran + int64(st.Stopped+st.Rearmed) + int64(left); got != armed {
		ss.t.Errorf("%d ran + Stopped %d + Rearmed %d + %d armed at Shutdown = %d, want %d armings",
			ran, st.Stopped, st.Rearmed, left, got, armed)
	}
	if int64(st.Fired) != ran || st.Armed != 0 {
		ss.t.Errorf("Fired is %d and Armed is %d, want %d and 0", st.Fired, st.Armed, ran)
	}
	stopped := ss.stopped.Load()
	most := stopped + ss.uncertain.Load()
	if got := int64(st.Stopped); got < stopped || got > most {
		ss.t.Errorf("Stopped is %d, want %d to %d", got, stopped, most)
	}
	if left == 0 {
		ss.t.Log("nothing was armed at Shutdown")
	}
	for i := range ss.timers {
		s := ss.timers[i].Load()
		if got, most := s.ran.Load(), s.granted.Load(); got > most {
			ss.t.Errorf("got %d runs, want at most %d", got, most)
		}
		ss.checkStale(s.timer)
	}
	_, err := ss.r.AfterFunc(0, kit.Never(ss.t, "a timer armed after Shutdown"))
	if err != foliot.ErrClosed {
		ss.t.Errorf("AfterFunc after Shutdown returns %v, want %v", err, foliot.ErrClosed)
	}
}

func TestShutdownUnderLoadAccountsForEveryArming(t *testing.T) {
	testkit.EachProcs(t, func(t *testing.T) {
		end := time.Now().Add(testkit.StressTime(t, 500*millisecond))
		for time.Now().Before(end) && !t.Failed() {
			opts := sideWorkOptions()
			if variants := stressVariants(); rand.IntN(2) == 0 {
				opts = variants[rand.IntN(len(variants))].opts
			}
			stressShutdown(t, opts)
		}
	})
}
