package bench

import (
	"runtime"
	"sync/atomic"

	"github.com/foliot-go/foliot"
)

// inFlight is how many tasks or goroutines there are at most that have not ended.
const inFlight = 1000

// An errand is a task or a goroutine that ends at once. All share one, so that the user's
// own struct costs nothing.
type errand struct {
	ended atomic.Int64
}

func (e *errand) Poll(*foliot.Context) foliot.Status {
	e.ended.Add(1)
	return foliot.Done
}

func (e *errand) run() { e.ended.Add(1) }

// taskSpawns measures a task from its beginning to its end.
func taskSpawns(s *sheet) error {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		return err
	}
	defer shutdown(rt)
	const name = "Spawn and Done, against go and return"
	d := duel{name: name, base: "goroutines", ours: "tasks", garbage: true}
	ops := min(5*s.n, 500_000)
	for range s.rounds() {
		err := d.round(
			s, ops,
			func() int {
				return new(errand).send(ops, func(e *errand) bool { go e.run(); return true })
			},
			func() int {
				return new(errand).send(ops, func(e *errand) bool { _, err := rt.Spawn(e); return err == nil })
			},
		)
		if err != nil {
			return err
		}
	}
	s.measure(name+": CPU", "ns").Main = true
	return nil
}

// send starts so many errands, and returns when all have ended.
func (e *errand) send(ops int, start func(*errand) bool) (lost int) {
	ended := 0
	for i := range ops {
		if i-lost-ended >= inFlight {
			ended = e.await(i - lost - inFlight/2)
		}
		if !start(e) {
			lost++
		}
	}
	e.await(ops - lost)
	return lost
}

// await waits until so many have ended, and returns how many have.
func (e *errand) await(want int) int {
	for {
		if got := int(e.ended.Load()); got >= want {
			return got
		}
		runtime.Gosched()
	}
}
