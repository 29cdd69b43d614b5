package contract_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
)

func TestResetOfAnIntervalChangesItsPeriodOnEachClock(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		interval := foliot.MustInterval(hour, foliot.Skip)
		began := c.now()
		var ticks atomic.Int64
		h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
			switch n := interval.Poll(cx); {
			case n != 0:
				if took := c.now().Sub(began); took < time.Duration(ticks.Add(int64(n)))*10*millisecond {
					t.Errorf("tick %d comes after %v", ticks.Load(), took)
				}
			case ticks.Load() == 0:
				interval.Reset(10 * millisecond)
				interval.Poll(cx)
			}
			return foliot.Pending
		})
		for ticks.Load() < 3 {
			c.pass(10 * millisecond)
			if c.now().Sub(began) > testkit.Timeout {
				t.Fatalf("%d ticks in %v, want 3", ticks.Load(), testkit.Timeout)
			}
		}
		h.Abort()
	})
}
