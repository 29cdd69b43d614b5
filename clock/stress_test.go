package clock_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/clock"
	"github.com/foliot-go/foliot/internal/testkit"
)

// stress has users of all kinds do some operations each, while another goroutine advances the clock.
// It returns the faults that they have found.
func stress(c faking, operations int) map[string]int {
	l := &ledger{clock: c, faults: map[string]int{}}
	kinds := []func(*ledger) user{newFuncUser, newTimerUser, newTickerUser, newSleepUser, newContextUser}
	var users []user
	for i := range 3 * len(kinds) {
		users = append(users, kinds[i%len(kinds)](l))
	}
	var left atomic.Int64
	left.Store(int64(len(users)))
	var wg sync.WaitGroup
	for _, u := range users {
		wg.Go(func() {
			defer left.Add(-1)
			for range operations {
				u.operate()
				if rand.IntN(8) == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	for left.Load() > 0 {
		if rand.IntN(4) == 0 {
			c.AdvanceToNext()
		} else {
			c.Advance(rand.N(2 * time.Second))
		}
		runtime.Gosched()
	}
	wg.Wait()
	c.Advance(2 * time.Hour)
	for _, u := range users {
		u.finish()
	}
	if c.Waiters() != 0 {
		l.fault("something waits at the end")
	}
	return l.faults
}

func TestUnderStressNothingIsEarlyLostOrStale(t *testing.T) {
	until := time.Now().Add(testkit.StressTime(t, 300*time.Millisecond))
	for time.Now().Before(until) && !t.Failed() {
		for what, n := range stress(clock.NewFake(), 200) {
			t.Errorf("%s, %d times", what, n)
		}
	}
}

func TestInABubbleUnderStressNothingIsEarlyLostOrStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, n := range stress(clock.NewFake(), 200) {
			t.Errorf("%s, %d times", what, n)
		}
	})
}
