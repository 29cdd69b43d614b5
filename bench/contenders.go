package bench

import (
	"math/rand/v2"
	"time"

	"github.com/foliot-go/foliot/bench/internal/list"
	"github.com/foliot-go/foliot/wheel"
)

// The deadlines of all measurements lie at random in one hour, in ticks of a
// millisecond, and no timer of the standard library comes due meanwhile.
const (
	hour  = 3_600_000
	tick  = time.Millisecond
	ahead = time.Hour
)

// payload is four bytes, as a slot number would be.
type payload = uint32

// deadlines returns n ticks at random.
func deadlines(n int) []wheel.Tick {
	ticks := make([]wheel.Tick, n)
	for i := range ticks {
		ticks[i] = 1 + wheel.Tick(rand.Uint64N(hour))
	}
	return ticks
}

// A trio holds the same timers three times.
type trio struct {
	std     []*time.Timer
	wheel   *wheel.Wheel[payload]
	handles []wheel.Handle
	list    *list.Wheel[payload]
	links   []uint64
	ticks   []wheel.Tick // deadlines to draw from; its length is a power of two
}

func newTrio(n int) *trio {
	t := &trio{
		std:     make([]*time.Timer, n),
		wheel:   wheel.New[payload](0, 0),
		handles: make([]wheel.Handle, n),
		list:    list.New[payload](),
		links:   make([]uint64, n),
		ticks:   deadlines(1 << 16),
	}
	for i, at := range deadlines(n) {
		t.std[i] = time.AfterFunc(after(at), nothing)
		t.handles[i] = t.wheel.Schedule(at, payload(i))
		t.links[i] = t.list.Schedule(uint64(at), payload(i))
	}
	return t
}

func (t *trio) stop() { stopStd(t.std) }

// at returns one of the deadlines at random.
func (t *trio) at(i int) wheel.Tick { return t.ticks[i&(len(t.ticks)-1)] }

func after(at wheel.Tick) time.Duration { return ahead + time.Duration(at)*tick }

func nothing() {}
