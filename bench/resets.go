package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/foliot-go/foliot"
)

// hot is how many timers are few enough to stay in the cache.
const hot = 1000

// measureResets measures what is done to timers that are out already: pushing the
// deadline back, as an idle timeout does, pulling it forward, calling it off. At random
// among all of them it is mostly cache misses.
func measureResets(ctx context.Context, o Options, n int) ([]Result, error) {
	c, err := newCrowd(n, foliot.Options{})
	if err != nil {
		return nil, err
	}
	defer c.close()
	cold := duel{name: "Reset later, one at random"}
	warm := duel{name: "Reset later, one of 1,000"}
	at := duel{name: "ResetAt later, one at random"}
	early := duel{name: "Reset earlier, one at random"}
	stop := duel{name: "Stop, one at random"}
	for round := range o.some() {
		if ctx.Err() != nil {
			break
		}
		runtime.GC()
		// Later than all that is armed by then, and earlier than it.
		later := 3*ahead + time.Duration(round)*time.Second
		earlier := max(ahead-time.Duration(round+1)*10*time.Second, ahead/10)
		err := errors.Join(
			c.reset(&cold, sample(n), later),
			c.reset(&warm, few(n), later+time.Second/2),
			c.resetAt(&at, sample(n), later+time.Second/2),
			c.reset(&early, distinct(n), earlier),
			c.stop(&stop, distinct(n)),
		)
		if err != nil {
			return nil, err
		}
	}
	return []Result{cold.result(n), warm.result(n), at.result(n), early.result(n), stop.result(n)}, nil
}

// sample returns which timers to work on, at random.
func sample(n int) []int {
	some := make([]int, min(n, 200_000))
	for i := range some {
		some[i] = rand.IntN(n)
	}
	return some
}

// distinct does the same, but none comes twice, and most stay as they are.
func distinct(n int) []int {
	return rand.Perm(n)[:min(n/5+1, 200_000)]
}

// few does the same, but they are few, and it is each one's turn more often.
func few(n int) []int {
	some := make([]int, min(n, 400_000))
	for i := range some {
		some[i] = rand.IntN(min(n, hot))
	}
	return some
}

func (c *crowd) reset(d *duel, some []int, delay time.Duration) error {
	return d.round(
		len(some),
		func() (lost int) {
			for _, k := range some {
				if !c.std[k].Reset(delay) {
					lost++
				}
			}
			return lost
		},
		func() (lost int) {
			for _, k := range some {
				if !c.timers[k].Reset(delay) {
					lost++
				}
			}
			return lost
		},
	)
}

// resetAt is reset where the new deadline is known as a time. The standard library
// wants a delay and has to read the clock for that.
func (c *crowd) resetAt(d *duel, some []int, delay time.Duration) error {
	when := time.Now().Add(delay)
	return d.round(
		len(some),
		func() (lost int) {
			for _, k := range some {
				if !c.std[k].Reset(time.Until(when)) {
					lost++
				}
			}
			return lost
		},
		func() (lost int) {
			for _, k := range some {
				if !c.timers[k].ResetAt(when) {
					lost++
				}
			}
			return lost
		},
	)
}

// stop calls off timers, each once, and replaces them when it was measured.
func (c *crowd) stop(d *duel, some []int) error {
	err := d.round(
		len(some),
		func() (lost int) {
			for _, k := range some {
				if !c.std[k].Stop() {
					lost++
				}
			}
			return lost
		},
		func() (lost int) {
			for _, k := range some {
				if !c.timers[k].Stop() {
					lost++
				}
			}
			return lost
		},
	)
	for i, k := range some {
		c.std[k] = time.AfterFunc(c.delay(i), nothing)
		t, failed := c.rt.AfterFunc(c.delay(i), nothing)
		err = errors.Join(err, failed)
		c.timers[k] = t
	}
	return err
}
