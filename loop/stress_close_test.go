package loop_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// Close comes at any time, from several goroutines. What runs was accepted, in order and once; what is refused
// never runs, and once Run has come back nothing does.
func TestStressCloseWhileOthersPostAndRun(t *testing.T) {
	for name, clock := range stressLoops {
		t.Run(name, func(t *testing.T) {
			eachProcs(t, func(t *testing.T) {
				for end := time.Now().Add(stressTime(t, 300*millisecond)); time.Now().Before(end); {
					closeOnce(t, loop.New(loop.Options{Clock: clock()}))
				}
			})
		})
	}
}

func closeOnce(t *testing.T, l *loop.Loop) {
	t.Helper()
	const producers = 4
	g := &ledger{t: t, next: make([]int, producers)}
	var accepted [producers]int
	var over atomic.Bool // Run has come back
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() { accepted[p] = g.produce(l, p, time.Now().Add(hour)) })
	}
	for range 2 {
		life := rand.N(3 * millisecond)
		wg.Go(func() {
			time.Sleep(life)
			if err := l.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if err := l.Post(never(t, "a post after Close")); !errors.Is(err, loop.ErrClosed) {
				t.Errorf("Post after Close: %v", err)
			}
			if err := l.PostBatch([]func(){never(t, "a post after Close")}); !errors.Is(err, loop.ErrClosed) {
				t.Errorf("PostBatch after Close: %v", err)
			}
		})
	}
	wg.Go(func() {
		release := l.Hold()
		pause()
		l.Stop()
		release()
	})
	var tick func()
	tick = func() {
		if over.Load() {
			t.Error("a timer ran after the end of Run")
		}
		l.CallLater(rand.N(100*microsecond), tick)
	}
	l.CallSoon(tick)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		if err := l.Run(ctx); errors.Is(err, loop.ErrClosed) {
			break
		} else if err != nil {
			t.Fatalf("Run: %v", err)
		}
	}
	over.Store(true)
	ran := append([]int(nil), g.next...)
	wg.Wait()
	for p := range producers {
		if g.next[p] != ran[p] {
			t.Errorf("posts of producer %d ran after the end of Run", p)
		}
		if ran[p] > accepted[p] {
			t.Errorf("%d posts of producer %d ran, %d were accepted", ran[p], p, accepted[p])
		}
	}
	for _, r := range runners {
		if err := r.run(l, ctx); !errors.Is(err, loop.ErrClosed) {
			t.Errorf("%s after Close: %v", r.name, err)
		}
	}
}
