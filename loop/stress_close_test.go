package loop_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
)

// Several goroutines call Close at random times. Only accepted posts run, once and in
// order. A refused post never runs, and after Run has returned nothing runs.
func TestStressCloseDuringPostAndRunLosesAndRepeatsNoPost(t *testing.T) {
	for _, c := range clocks {
		t.Run(c.name, func(t *testing.T) {
			testkit.EachProcs(t, func(t *testing.T) {
				end := time.Now().Add(testkit.StressTime(t, 300*millisecond))
				for time.Now().Before(end) {
					closeOnce(t, loop.New(loop.Options{Clock: c.clock()}))
				}
			})
		})
	}
}

// closeOnce runs l, posts to it and closes it.
func closeOnce(t *testing.T, l *loop.Loop) {
	t.Helper()
	const producers = 4
	o := newOracle(t, producers)
	var accepted [producers]int
	var returned atomic.Bool // Run has returned for the last time
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() { accepted[p] = o.produce(l, p, time.Now().Add(hour)) })
	}
	for range 2 {
		delay := rand.N(3 * millisecond)
		wg.Go(func() {
			time.Sleep(delay)
			closeLoop(t, l)
			if err := l.Post(mustNotRun(t, "a post after Close")); !errors.Is(err, loop.ErrClosed) {
				t.Errorf("Post after Close returns %v, want ErrClosed", err)
			}
			err := l.PostBatch([]func(){mustNotRun(t, "a post after Close")})
			if !errors.Is(err, loop.ErrClosed) {
				t.Errorf("PostBatch after Close returns %v, want ErrClosed", err)
			}
		})
	}
	wg.Go(func() {
		release := l.Hold()
		testkit.RandomPause()
		l.Stop()
		release()
	})
	var tick func()
	tick = func() {
		if returned.Load() {
			t.Error("a timer ran after Run had returned")
		}
		l.CallLater(rand.N(100*microsecond), tick)
	}
	l.CallSoon(tick)
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Timeout)
	defer cancel()
	for {
		if err := l.Run(ctx); errors.Is(err, loop.ErrClosed) {
			break
		} else if err != nil {
			t.Fatalf("Run: %v", err)
		}
	}
	returned.Store(true)
	ran := slices.Clone(o.next)
	wg.Wait()
	for p := range producers {
		if o.next[p] != ran[p] {
			t.Errorf("posts of producer %d ran after Run had returned", p)
		}
		if ran[p] > accepted[p] {
			t.Errorf("%d posts of producer %d ran, want at most %d that were accepted",
				ran[p], p, accepted[p])
		}
	}
	for _, r := range runners {
		if err := r.run(l, ctx); !errors.Is(err, loop.ErrClosed) {
			t.Errorf("%s after Close returns %v, want ErrClosed", r.name, err)
		}
	}
}
