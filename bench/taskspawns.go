package bench

import (
	"runtime"
	"sync/atomic"

	"github.com/foliot-go/foliot"
)

// maxInFlight is the largest number of tasks or goroutines that have started and not ended.
const maxInFlight = 1000

// A shortTask is a task or a goroutine that ends at once. All share one struct, so that its allocation is not part
// of the cost.
type shortTask struct {
	ended atomic.Int64
}

func (t *shortTask) Poll(*foliot.Context) foliot.Status {
	t.ended.Add(1)
	return foliot.Done
}

func (t *shortTask) run() { t.ended.Add(1) }

// taskSpawns measures spawning a task that ends at once, against a goroutine that does.
func taskSpawns(s *scenarioRun) error {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		return err
	}
	defer shutdown(rt)
	const name = "Spawn and Done, against go and return"
	p := pair{name: name, base: "goroutines", ours: "tasks", garbage: true}
	ops := min(5*s.n, 500_000)
	for range s.rounds() {
		err := p.round(
			s, ops,
			func() int {
				return new(shortTask).runAll(ops, func(t *shortTask) bool { go t.run(); return true })
			},
			func() int {
				return new(shortTask).runAll(ops, func(t *shortTask) bool { _, err := rt.Spawn(t); return err == nil })
			},
		)
		if err != nil {
			return err
		}
	}
	s.measure(name+": CPU", "ns").Main = true
	return nil
}

// runAll calls start ops times and returns when everything that was started has ended. It returns how many starts
// failed.
func (t *shortTask) runAll(ops int, start func(*shortTask) bool) (failed int) {
	ended := 0
	for i := range ops {
		if i-failed-ended >= maxInFlight {
			ended = t.waitFor(i - failed - maxInFlight/2)
		}
		if !start(t) {
			failed++
		}
	}
	t.waitFor(ops - failed)
	return failed
}

// waitFor waits until at least want have ended, and returns how many have.
func (t *shortTask) waitFor(want int) int {
	for {
		if got := int(t.ended.Load()); got >= want {
			return got
		}
		runtime.Gosched()
	}
}
