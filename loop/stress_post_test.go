package loop_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/loop"
)

const stressProducers = 8

func TestStressEveryPostRunsOnceAndInOrderWhileRunComesAndGoes(t *testing.T) {
	eachStress(t, func(t *testing.T, l *loop.Loop, end time.Time) {
		g := &ledger{t: t, next: make([]int, stressProducers)}
		accepted := make([]int, stressProducers)
		var producers, others sync.WaitGroup
		for p := range stressProducers {
			producers.Go(func() { accepted[p] = g.produce(l, p, end) })
		}
		var over atomic.Bool
		others.Go(func() { // ends runs at any time
			for !over.Load() {
				l.Stop()
				time.Sleep(rand.N(millisecond))
			}
		})
		done := make(chan struct{})
		go func() {
			producers.Wait()
			close(done)
		}()
		ctx := withPatience(t, end)
		for ended := false; !ended; {
			select {
			case <-done:
				ended = true
			default:
			}
			goOn(t, l, ctx)
		}
		over.Store(true)
		others.Wait()
		for range 2 { // the first may be ended by a last Stop
			runIdle(t, l)
		}
		for p, n := range accepted {
			if g.next[p] != n {
				t.Errorf("%d of %d posts of producer %d ran", g.next[p], n, p)
			}
		}
	})
}

// goOn lets the loop run on in one of many ways, until it is stopped or for a short time.
func goOn(t testing.TB, l *loop.Loop, ctx context.Context) {
	short, cancel := context.WithTimeout(ctx, rand.N(3*millisecond))
	defer cancel()
	var err error
	switch rand.IntN(4) {
	case 0:
		l.CallLater(rand.N(millisecond), l.Stop)
		err = l.Run(ctx)
	case 1:
		err = l.Run(short)
	case 2:
		err = l.RunUntilIdle(short)
	case 3:
		l.Step()
	}
	if err != nil && (!errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil) {
		t.Fatalf("the loop ended with %v", err)
	}
}

// A loop that sleeps must be woken by each post: a lost wake-up is a hang.
func TestStressAPostAlwaysWakesTheLoop(t *testing.T) {
	eachStress(t, func(t *testing.T, l *loop.Loop, end time.Time) {
		ended := started(t, withPatience(t, end), l)
		var players sync.WaitGroup
		for range 3 {
			players.Go(func() {
				ran := make(chan struct{})
				for time.Now().Before(end) {
					post(t, l, func() {
						if rand.IntN(8) == 0 {
							l.CallLater(rand.N(100*microsecond), func() { ran <- struct{}{} })
							return
						}
						go func() { ran <- struct{}{} }()
					})
					select {
					case <-ran:
					case <-time.After(patience):
						t.Errorf("a post did not run\n%s", stacks())
						return
					}
					pause()
				}
			})
		}
		players.Wait()
		l.Stop()
		if err := receive(t, ended, "Run"); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// The moment in which a wake-up could be lost is some nanoseconds long: between the loop's last look and its sleep. The
// next post comes about then, from a goroutine that spins, so that it does not come from the one that the loop makes way for.
func TestStressAPostMeetsTheLoopAsItFallsAsleep(t *testing.T) {
	eachStress(t, func(t *testing.T, l *loop.Loop, end time.Time) {
		ended := started(t, withPatience(t, end), l)
		var answered atomic.Int64
		answer := func() { answered.Add(1) }
		for n := int64(1); time.Now().Before(end) && !t.Failed(); n++ {
			post(t, l, answer)
			for asked, spins := time.Now(), 0; answered.Load() != n; spins++ {
				if spins%1024 == 1023 {
					runtime.Gosched()
				}
				if spins%(1<<20) == 1<<20-1 && time.Since(asked) > patience {
					t.Errorf("post %d did not run\n%s", n, stacks())
					break
				}
			}
			for range rand.IntN(1 << rand.IntN(16)) {
				answered.Load()
			}
		}
		l.Stop()
		if err := receive(t, ended, "Run"); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestStressStopAlwaysEndsRun(t *testing.T) {
	eachStress(t, func(t *testing.T, l *loop.Loop, end time.Time) {
		ctx := withPatience(t, end)
		for time.Now().Before(end) {
			stopped := make(chan struct{})
			go func() {
				pause()
				l.Stop()
				close(stopped)
			}()
			if err := l.Run(ctx); err != nil {
				t.Fatalf("Run: %v", err)
			}
			<-stopped
		}
	})
}

// A context may end at any time, and so may the loop's wait; what is left behind must not disturb the next run.
func TestStressContextsThatEnd(t *testing.T) {
	eachStress(t, func(t *testing.T, l *loop.Loop, end time.Time) {
		for time.Now().Before(end) {
			ctx, cancel := context.WithCancel(context.Background())
			go func() {
				pause()
				cancel()
			}()
			ran := false
			l.CallSoon(func() { ran = true })
			if err := l.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Fatalf("Run: %v", err)
			}
			runIdle(t, l)
			if !ran {
				t.Fatal("a soon call was lost")
			}
		}
	})
}
