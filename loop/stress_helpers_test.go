package loop_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// stressTime is how long one stress test goes on: as long as the environment variable FOLIOT_STRESS says, a duration
// like 30s, or else for a short time.
func stressTime(t testing.TB, short time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv("FOLIOT_STRESS")
	if text == "" {
		return short
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("FOLIOT_STRESS: %v", err)
	}
	return d
}

// eachProcs runs a test with 1, 2 and 8 processors. Tests that use it must not be parallel.
func eachProcs(t *testing.T, f func(t *testing.T)) {
	for _, procs := range []int{1, 2, 8} {
		t.Run(fmt.Sprintf("GOMAXPROCS %d", procs), func(t *testing.T) {
			prior := runtime.GOMAXPROCS(procs)
			t.Cleanup(func() { runtime.GOMAXPROCS(prior) })
			f(t)
		})
	}
}

// pause lets some time pass, mostly none. Without it the loop would always be busy, and never have to be woken.
func pause() {
	switch rand.IntN(64) {
	case 0:
		time.Sleep(rand.N(2 * millisecond))
	case 1, 2, 3, 4, 5, 6, 7:
		time.Sleep(rand.N(200 * microsecond))
	case 8, 9, 10, 11:
		runtime.Gosched()
	}
}

// A ledger belongs to the loop's goroutine: what has run of each producer's posts.
type ledger struct {
	t    testing.TB
	next []int // for each producer, the post that must run next
}

// entry is a callback that must run once, as number n of its producer.
func (g *ledger) entry(producer, n int) func() {
	return func() {
		if g.next[producer] != n {
			g.t.Errorf("post %d of producer %d ran when it was the turn of %d", n, producer, g.next[producer])
		}
		g.next[producer] = n + 1
	}
}

// produce posts until the time is over or the loop closed, and returns how many posts were accepted.
func (g *ledger) produce(l *loop.Loop, producer int, end time.Time) (accepted int) {
	for time.Now().Before(end) {
		many := 1
		var err error
		if rand.IntN(4) == 0 {
			many = rand.IntN(20)
			fs := make([]func(), many)
			for i := range fs {
				fs[i] = g.entry(producer, accepted+i)
			}
			err = l.PostBatch(fs)
			clear(fs)
		} else {
			err = l.Post(g.entry(producer, accepted))
		}
		if err != nil {
			if !errors.Is(err, loop.ErrClosed) {
				g.t.Errorf("Post: %v", err)
			}
			return accepted
		}
		accepted += many
		pause()
	}
	return accepted
}

// stressLoops are the clocks that a loop may be on. On virtual time a loop waits only when nothing is armed.
var stressLoops = map[string]func() loop.Clock{
	"system":  func() loop.Clock { return nil },
	"virtual": func() loop.Clock { return loop.Virtual(hour) },
}

// eachStress runs a test for some time on each clock and with each number of processors.
func eachStress(t *testing.T, f func(t *testing.T, l *loop.Loop, end time.Time)) {
	for name, clock := range stressLoops {
		t.Run(name, func(t *testing.T) {
			eachProcs(t, func(t *testing.T) {
				d := stressTime(t, 200*millisecond)
				f(t, newLoop(t, loop.Options{Clock: clock()}), time.Now().Add(d))
			})
		})
	}
}

// withPatience is a context that ends when something hangs, long after the end of a stress test.
func withPatience(t testing.TB, end time.Time) context.Context {
	ctx, cancel := context.WithDeadline(context.Background(), end.Add(patience))
	t.Cleanup(cancel)
	return ctx
}
