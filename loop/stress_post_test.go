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

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
)

const stressProducers = 8

func TestStressEveryPostRunsOnceAndInOrderAcrossRuns(t *testing.T) {
	eachStress(t, func(t *testing.T, l *loop.Loop, end time.Time) {
		o := newOracle(t, stressProducers)
		accepted := make([]int, stressProducers)
		var producers, others sync.WaitGroup
		for p := range stressProducers {
			producers.Go(func() { accepted[p] = o.produce(l, p, end) })
		}
		var finished atomic.Bool
		others.Go(func() { // ends runs at random times
			for !finished.Load() {
				l.Stop()
				time.Sleep(rand.N(millisecond))
			}
		})
		done := make(chan struct{})
		go func() {
			producers.Wait()
			close(done)
		}()
		ctx := stressContext(t, end)
		for ended := false; !ended; {
			select {
			case <-done:
				ended = true
			default:
			}
			runBriefly(t, l, ctx)
		}
		finished.Store(true)
		others.Wait()
		for range 2 { // the last Stop may end the first run
			runUntilIdle(t, l)
		}
		for p, n := range accepted {
			if o.next[p] != n {
				t.Errorf("%d of %d posts of producer %d ran", o.next[p], n, p)
			}
		}
	})
}

// runBriefly runs the loop in one of several ways, until it is stopped or for a short
// time.
func runBriefly(t testing.TB, l *loop.Loop, ctx context.Context) {
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
		t.Fatalf("the loop returned %v", err)
	}
}

// Each post must wake a loop that sleeps. The test hangs if a wake-up is lost.
func TestStressAPostAlwaysWakesTheLoop(t *testing.T) {
	eachStress(t, func(t *testing.T, l *loop.Loop, end time.Time) {
		ended := startRun(t, stressContext(t, end), l)
		var producers sync.WaitGroup
		for range 3 {
			producers.Go(func() {
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
					case <-time.After(testkit.Timeout):
						t.Errorf("a post did not run\n%s", testkit.Stacks())
						return
					}
					testkit.RandomPause()
				}
			})
		}
		producers.Wait()
		stopRun(t, l, ended)
	})
}

// A wake-up could be lost in the few nanoseconds between the loop's last check and its
// sleep. The next post comes about then. The goroutine that posts it spins instead of
// blocking: otherwise it would run when the loop yields its processor, and not at the
// same time.
func TestStressAPostWakesALoopThatIsFallingAsleep(t *testing.T) {
	eachStress(t, func(t *testing.T, l *loop.Loop, end time.Time) {
		ended := startRun(t, stressContext(t, end), l)
		var ran atomic.Int64
		callback := func() { ran.Add(1) }
		for n := int64(1); time.Now().Before(end) && !t.Failed(); n++ {
			post(t, l, callback)
			for posted, spins := time.Now(), 0; ran.Load() != n; spins++ {
				if spins%1024 == 1023 {
					runtime.Gosched()
				}
				if spins%(1<<20) == 1<<20-1 && time.Since(posted) > testkit.Timeout {
					t.Errorf("post %d did not run\n%s", n, testkit.Stacks())
					break
				}
			}
			for range rand.IntN(1 << rand.IntN(16)) {
				ran.Load()
			}
		}
		stopRun(t, l, ended)
	})
}

func TestStressStopAlwaysEndsRun(t *testing.T) {
	eachStress(t, func(t *testing.T, l *loop.Loop, end time.Time) {
		ctx := stressContext(t, end)
		for time.Now().Before(end) {
			stopped := make(chan struct{})
			go func() {
				testkit.RandomPause()
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

// A context ends at a random time, sometimes while the loop waits. The next run must work.
func TestStressNoCallbackIsLostWhenContextsEnd(t *testing.T) {
	eachStress(t, func(t *testing.T, l *loop.Loop, end time.Time) {
		for time.Now().Before(end) {
			ctx, cancel := context.WithCancel(context.Background())
			go func() {
				testkit.RandomPause()
				cancel()
			}()
			ran := false
			l.CallSoon(func() { ran = true })
			if err := l.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Fatalf("Run: %v", err)
			}
			runUntilIdle(t, l)
			if !ran {
				t.Fatal("a callback of CallSoon was lost")
			}
		}
	})
}
