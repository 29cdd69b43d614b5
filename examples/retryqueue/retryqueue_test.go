package main

import (
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
)

// bubble runs f with a runtime in a synctest bubble.
func bubble(t *testing.T, f func(t *testing.T, rt *foliot.Runtime)) {
	synctest.Test(t, func(t *testing.T) {
		rt, err := foliot.New(foliot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f(t, rt)
		if _, err := rt.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

// unlimited is a policy with a rate that no test reaches.
var unlimited = Policy{Batch: 10, Attempts: 5, Base: time.Second, Max: 4 * time.Second, Rate: maxRate, Burst: 1000}

func TestThePausesDoubleUpToTheLongest(t *testing.T) {
	bubble(t, func(t *testing.T, rt *foliot.Runtime) {
		start := time.Now()
		var at []time.Duration
		q := NewRetryQueue(rt, unlimited, func(context.Context, uint64) error {
			at = append(at, time.Since(start).Truncate(100*time.Millisecond))
			return errFlaky
		})
		gaveUp := 0
		q.OnDone = func(uint64) { t.Error("done, although every attempt has failed") }
		q.OnGiveUp = func(id uint64, last error) {
			if gaveUp++; id != 7 || !errors.Is(last, errFlaky) {
				t.Errorf("job %d was given up: %v", id, last)
			}
		}
		if err := q.Add(7); err != nil {
			t.Fatal(err)
		}
		if err := q.Run(t.Context(), 1); err != nil || gaveUp != 1 {
			t.Errorf("Run: %v; given up %d times", err, gaveUp)
		}
		s := time.Second
		if want := []time.Duration{0, 1 * s, 3 * s, 7 * s, 11 * s}; !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
	})
}

func TestRunAlsoDoesJobsThatAreAddedMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T, rt *foliot.Runtime) {
		var done []uint64
		q := NewRetryQueue(rt, unlimited, func(context.Context, uint64) error { return nil })
		q.OnDone = func(id uint64) {
			done = append(done, id)
			if id > 0 {
				if err := q.Add(id - 1); err != nil {
					t.Error(err)
				}
			}
		}
		if err := q.Add(3); err != nil {
			t.Fatal(err)
		}
		if err := q.Run(t.Context(), 1); err != nil || !slices.Equal(done, []uint64{3, 2, 1, 0}) {
			t.Errorf("done %v, %v", done, err)
		}
	})
}

func TestCancellingLeavesUnsettledJobsInTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T, rt *foliot.Runtime) {
		ctx, cancel := context.WithCancel(t.Context())
		slow := unlimited
		slow.Rate, slow.Burst = 1, 1
		done := 0
		q := NewRetryQueue(rt, slow, func(context.Context, uint64) error { return nil })
		q.OnDone = func(uint64) { done++ }
		for id := range uint64(50) {
			if err := q.Add(id); err != nil {
				t.Fatal(err)
			}
		}
		time.AfterFunc(9500*time.Millisecond, cancel)
		if err := q.Run(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
		if done != 10 || q.Len() != 40 {
			t.Errorf("%d done, %d left", done, q.Len())
		}
		// Another Run does the rest.
		if err := q.Run(t.Context(), 1); err != nil || done != 50 || q.Len() != 0 {
			t.Errorf("Run: %v; %d done, %d left", err, done, q.Len())
		}
	})
}

func TestTheLimiterKeepsThePace(t *testing.T) {
	bubble(t, func(t *testing.T, rt *foliot.Runtime) {
		const burst, each = 5, 10 * time.Millisecond
		l := NewLimiter(rt, 100, burst)
		start := time.Now()
		var (
			mu sync.Mutex
			at []time.Duration
			wg sync.WaitGroup
		)
		for range 8 {
			wg.Go(func() {
				for range 50 {
					if err := l.Wait(t.Context()); err != nil {
						t.Error(err)
					}
					mu.Lock()
					at = append(at, time.Since(start))
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		slices.Sort(at)
		for i, d := range at {
			if earliest := time.Duration(i-burst+1) * each; d < earliest || d > max(earliest, 0)+each {
				t.Fatalf("event %d at %v, want it at %v", i, d, max(earliest, 0))
			}
		}
	})
}

func TestALimiterThatHasRestedAllowsNoMoreThanABurst(t *testing.T) {
	bubble(t, func(t *testing.T, rt *foliot.Runtime) {
		l := NewLimiter(rt, 100, 3)
		time.Sleep(time.Hour)
		start := time.Now()
		for range 4 {
			if err := l.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took < 10*time.Millisecond {
			t.Errorf("four events within %v", took)
		}
	})
}

func TestNoPauseExceedsTheLongest(t *testing.T) {
	p := Policy{Base: 3 * time.Millisecond, Max: 1<<63 - 1}
	for attempt, before := 1, time.Duration(0); attempt < 200; attempt++ {
		pause := p.pause(attempt)
		if pause < before || pause == before && pause != p.Max {
			t.Fatalf("attempt %d: a pause of %v after one of %v", attempt, pause, before)
		}
		before = pause
	}
}

func TestEveryJobIsSettledExactlyOnce(t *testing.T) {
	for args, want := range map[string]string{
		"-jobs 2000 -rate 20000 -base 5ms -max 20ms":                             `2000 jobs: \d{4} done, \d+ given up, 0 left; \d+ attempts`,
		"-jobs 500 -rate 100000 -base 1ms -max 4ms -workers 8 -batch 1":          `500 jobs: \d+ done, \d+ given up, 0 left; \d+ attempts`,
		"-jobs 300 -rate 100000 -base 1ms -max 4ms -fail 1 -attempts 3":          `300 jobs: 0 done, 300 given up, 0 left; 900 attempts`,
		"-jobs 300 -rate 100000 -base 1ms -max 4ms -fail 0 -broken 0 -workers 1": `300 jobs: 300 done, 0 given up, 0 left; 300 attempts`,
	} {
		var out strings.Builder
		if err := run(t.Context(), strings.Fields(args), &out); err != nil || !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("%s: %v\n%s", args, err, out.String())
		}
	}
}

func TestAnInterruptLosesNoJob(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	var out strings.Builder
	err := run(ctx, strings.Fields("-jobs 5000 -rate 1000 -base 1ms -max 10ms"), &out)
	if err == nil || err.Error() != context.Canceled.Error() || strings.Contains(out.String(), " 0 left") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestInvalidFlagsAreErrors(t *testing.T) {
	for _, args := range []string{
		"-jobs 0", "-workers 0", "-batch 0", "-attempts 0", "-fail 2", "-fail NaN", "-broken -1",
		"-base 0s", "-base 2s -max 1s", "-rate 0", "-rate 1000000000", "-burst 0", "-no-such-flag", "extra",
	} {
		if err := run(t.Context(), strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}
