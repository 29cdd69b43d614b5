package loop_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// In a bubble, a loop that looked at its inbox at intervals would be late by what is left of the interval.
func TestAPostWakesTheLoopAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, clock := range map[string]loop.Clock{"system": nil, "virtual": loop.Virtual(0)} {
			l := newLoop(t, loop.Options{Clock: clock})
			if clock == nil {
				l.CallLater(year, never(t, "a timer in a year"))
			}
			ended := inBackground(func() error { return l.Run(context.Background()) })
			for i := range 100 {
				time.Sleep(time.Duration(i) * 1234567 * microsecond)
				posted := time.Now()
				ran := make(chan time.Time, 1)
				if i%2 == 0 {
					post(t, l, func() { ran <- time.Now() })
				} else if err := l.PostBatch([]func(){noop, func() { ran <- time.Now() }}); err != nil {
					t.Errorf("PostBatch: %v", err)
				}
				if late := (<-ran).Sub(posted); late != 0 {
					t.Errorf("%s: post %d ran after %v", name, i, late)
				}
			}
			l.Stop()
			if err := <-ended; err != nil {
				t.Errorf("%s: Run: %v", name, err)
			}
		}
	})
}

// Outside a bubble all that can be told apart from a slow machine is a loop that sleeps on.
func TestAPostEndsAWaitThatHasNoEnd(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		ended := started(t, context.Background(), l)
		fastest := patience
		for i := range 50 {
			time.Sleep(time.Duration(i%10) * 300 * microsecond)
			posted := time.Now()
			ran := make(chan time.Time, 1)
			post(t, l, func() { ran <- time.Now() })
			fastest = min(fastest, receive(t, ran, "a post").Sub(posted))
		}
		if fastest > 100*millisecond {
			t.Errorf("the fastest of 50 posts took %v", fastest)
		}
		l.Stop()
		if err := receive(t, ended, "Run"); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// A post may make an earlier deadline than the one that the loop sleeps for.
func TestATimerArmedByAPostIsOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		l.CallLater(hour, noop)
		began := time.Now()
		go func() {
			time.Sleep(minute)
			post(t, l, func() {
				l.CallLater(second, func() {
					if took := time.Since(began); took != minute+second {
						t.Errorf("ran after %v", took)
					}
					l.Stop()
				})
			})
		}()
		if err := l.Run(context.Background()); err != nil {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took != minute+second {
			t.Errorf("Run took %v", took)
		}
	})
}

func TestNoPostOfABurstIsLost(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		n := 1_000_000
		if raceEnabled || testing.Short() {
			n = 100_000
		}
		runs := 0
		one := func() { runs++ }
		var handOver sync.WaitGroup
		handOver.Go(func() { // into a loop that does not run
			for range n / 4 {
				post(t, l, one)
			}
			if err := l.PostBatch(slices.Repeat([]func(){one}, n/4)); err != nil {
				t.Errorf("PostBatch: %v", err)
			}
		})
		handOver.Wait()
		post(t, l, func() { // into one that is busy
			handOver.Go(func() {
				for range n / 2 {
					post(t, l, one)
				}
			})
			handOver.Wait()
		})
		runIdle(t, l)
		if runs != n/4*2+n/2 {
			t.Errorf("%d of %d posts ran", runs, n/4*2+n/2)
		}
	})
}

func TestPostsOfEachGoroutineRunInOrder(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		const producers, each = 8, 2000
		ended := started(t, context.Background(), l)
		var next [producers]int
		var wg sync.WaitGroup
		for p := range producers {
			wg.Go(func() {
				for i := 0; i < each; {
					expect := func(i int) func() {
						return func() {
							if next[p] != i {
								t.Errorf("post %d of producer %d ran when it was the turn of %d", i, p, next[p])
							}
							next[p] = i + 1
						}
					}
					if i%16 == p {
						batch := []func(){expect(i), expect(i + 1), expect(i + 2)}
						if err := l.PostBatch(batch); err != nil {
							t.Errorf("PostBatch: %v", err)
						}
						clear(batch) // the slice is the caller's again
						i += 3
					} else {
						post(t, l, expect(i))
						i++
					}
				}
			})
		}
		wg.Wait()
		post(t, l, l.Stop)
		if err := receive(t, ended, "Run"); err != nil {
			t.Errorf("Run: %v", err)
		}
		for p, n := range next {
			if n < each {
				t.Errorf("%d posts of producer %d ran", n, p)
			}
		}
	})
}

func TestAnEmptyBatchIsNoWork(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		if err := l.PostBatch(nil); err != nil {
			t.Errorf("PostBatch(nil): %v", err)
		}
		wantStep(t, "after an empty batch", l, 0, false)
		runIdle(t, l)
	})
}

func TestTheSliceOfABatchIsTheCallersAgain(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var j journal
		for range 2 {
			fs := []func(){j.note("a"), j.note("b")}
			if err := l.PostBatch(fs); err != nil {
				t.Errorf("PostBatch: %v", err)
			}
			fs[0], fs[1] = never(t, "what came into the slice afterwards"), nil
		}
		runIdle(t, l)
		j.want(t, "two batches", "a b a b")
	})
}

// What a goroutine did before Post is seen by the callback: the race detector watches.
func TestWhatHappenedBeforeAPostIsSeenByIt(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		ended := started(t, context.Background(), l)
		x := 0
		done := make(chan struct{})
		x = 42
		post(t, l, func() {
			if x != 42 {
				t.Errorf("x is %d", x)
			}
			x = 43
			l.Stop()
			close(done)
		})
		receive(t, done, "the post")
		if err := receive(t, ended, "Run"); err != nil || x != 43 {
			t.Errorf("Run: %v, x is %d", err, x)
		}
	})
}
