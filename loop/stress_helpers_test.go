package loop_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
)

// An oracle checks that the posts of each producer run in order. It belongs to the loop's
// goroutine.
type oracle struct {
	t    testing.TB
	next []int // for each producer, the number of the post that must run next
}

func newOracle(t testing.TB, producers int) *oracle {
	return &oracle{t: t, next: make([]int, producers)}
}

// callback returns the callback of a producer's post number n.
func (o *oracle) callback(producer, n int) func() {
	return func() {
		if o.next[producer] != n {
			o.t.Errorf("post %d of producer %d ran, want post %d", n, producer, o.next[producer])
		}
		o.next[producer] = n + 1
	}
}

// produce posts until end or until the loop is closed. It returns how many
// callbacks were accepted.
func (o *oracle) produce(l *loop.Loop, producer int, end time.Time) (accepted int) {
	for time.Now().Before(end) {
		n := 1
		var err error
		if rand.IntN(4) == 0 {
			n = rand.IntN(20)
			fs := make([]func(), n)
			for i := range fs {
				fs[i] = o.callback(producer, accepted+i)
			}
			err = l.PostBatch(fs)
			clear(fs)
		} else {
			err = l.Post(o.callback(producer, accepted))
		}
		if err != nil {
			if !errors.Is(err, loop.ErrClosed) {
				o.t.Errorf("Post: %v", err)
			}
			return accepted
		}
		accepted += n
		testkit.RandomPause()
	}
	return accepted
}

// eachStress runs a subtest for some time on each kind of clock and with each number of
// processors. On a virtual clock a loop only waits if no timer is armed.
func eachStress(t *testing.T, f func(t *testing.T, l *loop.Loop, end time.Time)) {
	for _, c := range clocks {
		t.Run(c.name, func(t *testing.T) {
			testkit.EachProcs(t, func(t *testing.T) {
				end := time.Now().Add(testkit.StressTime(t, 200*millisecond))
				f(t, newLoop(t, loop.Options{Clock: c.clock()}), end)
			})
		})
	}
}

// stressContext returns a context that ends long after the end of a stress test, in case
// the loop hangs.
func stressContext(t testing.TB, end time.Time) context.Context {
	ctx, cancel := context.WithDeadline(context.Background(), end.Add(testkit.Timeout))
	t.Cleanup(cancel)
	return ctx
}
