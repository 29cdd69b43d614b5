package stress_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// stressShutdown shuts a runtime down in the middle of everything.
func stressShutdown(t *testing.T, o foliot.Options) {
	c := newCrowd(t, o, 20)
	ends := []func(){c.keepChecking(), keepResizing(t, c.r)}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { c.meddle(c.now() + int64(testkit.Timeout)) })
		wg.Go(func() { c.shoot(c.now() + int64(testkit.Timeout)) })
	}
	time.Sleep(kit.Random(40 * millisecond))
	c.closing.Store(true)
	var left int
	if rand.IntN(2) == 0 {
		left = kit.Shutdown(t, c.r)
	} else {
		left = impatient(t, c.r)
	}
	c.closed.Store(true)
	if n := c.inside.Load(); n != 0 {
		t.Errorf("%d callbacks run after Shutdown has returned", n)
	}
	ran := c.ran.Load()
	wg.Wait()
	for _, end := range ends {
		end()
	}
	c.shutDown(left)
	time.Sleep(kit.Random(5 * millisecond)) // for what might still run
	if got := c.ran.Load(); got != ran {
		t.Errorf("%d callbacks ran after Shutdown had returned", got-ran)
	}
}

// impatient shuts r down with contexts that end too early, until one does not. All answers must be the same.
func impatient(t *testing.T, r *foliot.Runtime) int {
	t.Helper()
	first := -1
	for begin := time.Now(); time.Since(begin) < testkit.Timeout; {
		ctx, cancel := context.WithTimeout(context.Background(), kit.Random(millisecond))
		armed, err := r.Shutdown(ctx)
		cancel()
		if first < 0 {
			first = armed
		}
		if armed != first {
			t.Errorf("Shutdown answers %d, and then %d", first, armed)
		}
		if err == nil {
			return armed
		}
	}
	t.Fatalf("Shutdown has not come to an end in %v\n%s", testkit.Timeout, testkit.Stacks())
	return 0
}

// shutDown balances the books of a runtime that was closed under load. What was refused is not known to be stopped, so
// that the vague armings are more.
func (c *crowd) shutDown(left int) {
	c.t.Helper()
	st := c.r.Stats()
	armed, ran := c.armed.Load(), c.ran.Load()
	if got := ran + int64(st.Stopped+st.Rearmed) + int64(left); got != armed {
		c.t.Errorf("%d ran + Stopped %d + Rearmed %d + %d armed at Shutdown = %d, and there were %d armings",
			ran, st.Stopped, st.Rearmed, left, got, armed)
	}
	if int64(st.Fired) != ran || st.Armed != 0 {
		c.t.Errorf("Fired is %d, Armed %d; %d callbacks ran", st.Fired, st.Armed, ran)
	}
	if most := c.stopped.Load() + c.vague.Load(); int64(st.Stopped) < c.stopped.Load() || int64(st.Stopped) > most {
		c.t.Errorf("Stopped is %d, want %d to %d", st.Stopped, c.stopped.Load(), most)
	}
	if left == 0 {
		c.t.Log("nothing was armed at Shutdown")
	}
	for _, p := range c.places {
		if cell := p.cell.Load(); cell.ran.Load() > cell.granted.Load() {
			c.t.Errorf("%d runs of %d armings", cell.ran.Load(), cell.granted.Load())
		}
		p.cell.Load().wantStale()
	}
	if _, err := c.r.AfterFunc(0, kit.Never(c.t, "a timer armed after Shutdown")); err != foliot.ErrClosed {
		c.t.Errorf("AfterFunc after Shutdown: %v", err)
	}
}

func TestShutdownUnderLoadAccountsForEveryArming(t *testing.T) {
	testkit.EachProcs(t, func(t *testing.T) {
		for end := time.Now().Add(testkit.StressTime(t, 500*millisecond)); time.Now().Before(end) && !t.Failed(); {
			o := everything()
			if all := stressVariants(); rand.IntN(2) == 0 {
				o = all[rand.IntN(len(all))].o
			}
			stressShutdown(t, o)
		}
	})
}
