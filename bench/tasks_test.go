package bench

import (
	"context"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

func newRuntime(t *testing.T, o foliot.Options) *foliot.Runtime {
	t.Helper()
	rt, err := foliot.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shutdown(rt) })
	return rt
}

func TestARallyIsAsManyPollsAsItSays(t *testing.T) {
	for _, players := range []int{1, 2} {
		rt := newRuntime(t, foliot.Options{Workers: 1})
		r := &rally{over: make(chan struct{}, 1)}
		handles, err := r.spawn(rt, players)
		if err != nil {
			t.Fatal(err)
		}
		polledOnce(rt, uint64(players))
		before := rt.Stats().Polls
		for range 3 {
			if lost := r.play(handles[0], 500); lost != 0 {
				t.Errorf("%d players: %d lost", players, lost)
			}
		}
		for deadline := time.Now().Add(10 * time.Second); rt.Stats().Polls < before+1500 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond) // a poll is counted after its end
		}
		if got := rt.Stats().Polls - before; got != 1500 {
			t.Errorf("%d players: %d polls, want 1500", players, got)
		}
	}
}

func TestAStaleTaskLosesTheRally(t *testing.T) {
	r := &rally{over: make(chan struct{}, 1)}
	if lost := r.play(foliot.TaskHandle{}, 7); lost != 7 {
		t.Errorf("%d lost, want 7", lost)
	}
}

func TestEachWakeInTheHallAndTheStreetIsCounted(t *testing.T) {
	h, err := newHall(newRuntime(t, foliot.Options{Workers: 1}))
	if err != nil {
		t.Fatal(err)
	}
	for h.polled.Load() < inHall {
		time.Sleep(time.Millisecond)
	}
	before := h.polled.Load()
	if lost := h.call(5 * inHall); lost != 0 || h.polled.Load() < before+5*inHall {
		t.Errorf("hall: %d lost, %d polls", lost, h.polled.Load()-before)
	}
	s := newStreet()
	defer s.close()
	if lost := s.call(2 * inHall); lost != 0 || s.woken.Load() != 2*inHall {
		t.Errorf("street: %d lost, %d woken", lost, s.woken.Load())
	}
}

func TestAllErrandsEndAndThoseThatCannotStartAreLost(t *testing.T) {
	rt := newRuntime(t, foliot.Options{})
	var e errand
	if lost := e.send(5*inFlight, func(e *errand) bool { _, err := rt.Spawn(e); return err == nil }); lost != 0 || e.ended.Load() != 5*inFlight {
		t.Errorf("%d lost, %d ended", lost, e.ended.Load())
	}
	var half errand
	n := 0
	lost := half.send(3*inFlight, func(e *errand) bool {
		if n++; n%2 == 0 {
			return false
		}
		go e.run()
		return true
	})
	if lost != 3*inFlight/2 || half.ended.Load() != 3*inFlight/2 {
		t.Errorf("%d lost, %d ended, want half of %d each", lost, half.ended.Load(), 3*inFlight)
	}
}

func TestSessionsTickWithBothContenders(t *testing.T) {
	b := beat{n: 50, period: 20 * time.Millisecond, settle: 40 * time.Millisecond, window: 100 * time.Millisecond}
	var tasks, goroutines pulse
	if err := b.tasks(context.Background(), &tasks, foliot.Options{}); err != nil {
		t.Fatal(err)
	}
	b.goroutines(context.Background(), &goroutines)
	for name, p := range map[string]pulse{"tasks": tasks, "goroutines": goroutines} {
		if len(p.cpu) != 3 || len(p.rate) != 3 || len(p.bytes) > 1 {
			t.Fatalf("%s: %+v, want three windows", name, p)
		}
		if rate := spread(p.rate); rate.Max == 0 || rate.Max > 2 {
			t.Errorf("%s: %v ticks of each in a period", name, p.rate)
		}
	}
}

func TestWhatIsNotInTheQueueIsLost(t *testing.T) {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	q := foliot.NewQueue[uint64](rt)
	if lost := pushAndRemove(q, 100, delays()); lost != 0 || q.Len() != 0 {
		t.Errorf("%d lost, %d left", lost, q.Len())
	}
	shutdown(rt)
	if lost := pushAndRemove(q, 100, delays()); lost != 100 {
		t.Errorf("%d lost after Shutdown, want all of 100", lost)
	}
}
