package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/foliot-go/foliot"
)

// A crowd is the timers that are outstanding while others are measured: n of the
// standard library and as many of a runtime, armed by several goroutines for one to
// two hours ahead. None comes due meanwhile.
type crowd struct {
	rt     *foliot.Runtime
	std    []*time.Timer
	timers []foliot.Timer
	delays []time.Duration // of one to two hours, to draw from; as many as a power of two
}

func newCrowd(n int, o foliot.Options) (*crowd, error) {
	rt, err := foliot.New(o)
	if err != nil {
		return nil, err
	}
	c := &crowd{rt, make([]*time.Timer, n), make([]foliot.Timer, n), delays()}
	armStd(c.std, c.delays)
	if lost := armFoliot(rt, c.timers, c.delays); lost != 0 {
		c.close()
		return nil, fmt.Errorf("%d of %d timers could not be armed", lost, n)
	}
	return c, nil
}

// delays returns 65,536 delays of one to two hours, at random.
func delays() []time.Duration {
	d := make([]time.Duration, 1<<16)
	for i := range d {
		d[i] = ahead + rand.N(ahead)
	}
	return d
}

// delay returns one of the delays at random.
func (c *crowd) delay(i int) time.Duration { return c.delays[i&(len(c.delays)-1)] }

// armStd arms a timer of the standard library in every place.
func armStd(timers []*time.Timer, delays []time.Duration) {
	share(4*runtime.GOMAXPROCS(0), len(timers), func(from, to int) int {
		for i := from; i < to; i++ {
			timers[i] = time.AfterFunc(delays[i&(len(delays)-1)], nothing)
		}
		return 0
	})
}

// armFoliot arms a timer of the runtime in every place.
func armFoliot(rt *foliot.Runtime, timers []foliot.Timer, delays []time.Duration) (lost int) {
	return share(4*runtime.GOMAXPROCS(0), len(timers), func(from, to int) (lost int) {
		for i := from; i < to; i++ {
			t, err := rt.AfterFunc(delays[i&(len(delays)-1)], nothing)
			if err != nil {
				lost++
			}
			timers[i] = t
		}
		return lost
	})
}

func (c *crowd) close() {
	stopStd(c.std)
	shutdown(c.rt)
}

// stopStd stops timers and has them forgotten. The standard library keeps a stopped timer
// until the P whose it is gets to schedule something.
func stopStd(timers []*time.Timer) {
	for _, t := range timers {
		t.Stop()
	}
	share(4*runtime.GOMAXPROCS(0), 1, func(int, int) int {
		for range 1000 {
			runtime.Gosched()
		}
		return 0
	})
}

// shutdown ends a runtime, none of whose callbacks lasts.
func shutdown(rt *foliot.Runtime) {
	if _, err := rt.Shutdown(context.Background()); err != nil {
		panic(err) // the context does not end
	}
}
