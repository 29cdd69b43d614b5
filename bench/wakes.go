package bench

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// taskWakes measures the way from a wake to the poll, beside what a goroutine takes to be woken and to run.
func taskWakes(s *sheet) error {
	rt, err := foliot.New(foliot.Options{Workers: 1})
	if err != nil {
		return err
	}
	defer shutdown(rt)
	alone := &rally{over: make(chan struct{}, 1)}
	both := &rally{over: make(chan struct{}, 1)}
	self, err := alone.spawn(rt, 1)
	if err != nil {
		return err
	}
	pair, err := both.spawn(rt, 2)
	if err != nil {
		return err
	}
	hall, err := newHall(rt)
	if err != nil {
		return err
	}
	polledOnce(rt, 1+2+inHall)
	street := newStreet()
	defer street.close()

	by := func(name string) *duel { return &duel{name: name, base: "goroutines", ours: "tasks"} }
	local := by("wakes itself, against runtime.Gosched")
	signalled := by("two wake each other, against an unbuffered channel, per hop")
	across := by("one goroutine wakes 1,024, against a channel to each")
	free := s.measure("processors to be had meanwhile; the last line needs two", "").neutral()
	ops := min(s.n, 500_000)
	for range s.rounds() {
		free.add("tasks", 0, processors(2))
		err := errors.Join(
			local.round(s, ops, func() int { return yield(ops) }, func() int { return alone.play(self[0], ops) }),
			signalled.round(s, ops, func() int { return pingPong(ops) }, func() int { return both.play(pair[0], ops) }),
			across.round(s, ops, func() int { return street.call(ops) }, func() int { return hall.call(ops) }),
		)
		if err != nil {
			return err
		}
	}
	s.measure("wakes itself, against runtime.Gosched: CPU", "ns").Main = true
	return nil
}

// processors returns how many processors so many goroutines get that never wait. On a
// machine that others use too, that is fewer than there are.
func processors(want int) float64 {
	began, cpu := time.Now(), processCPU()
	share(want, want, func(int, int) int {
		for time.Since(began) < 20*time.Millisecond {
		}
		return 0
	})
	return float64(processCPU()-cpu) / float64(time.Since(began))
}

// polledOnce waits until all tasks of a runtime have been polled for having been spawned.
func polledOnce(rt *foliot.Runtime, tasks uint64) {
	for rt.Stats().Polls < tasks {
		time.Sleep(50 * time.Microsecond)
	}
}

// A rally is a number of polls that tasks make in turn, each waking the next. Whoever is
// polled owns it; while none is left to make, nobody is woken and it belongs to the caller
// of play.
type rally struct {
	left int
	over chan struct{}
}

// A player is a task that plays, and wakes the next one.
type player struct {
	*rally
	next foliot.TaskHandle
}

func (p *player) Poll(*foliot.Context) foliot.Status {
	if p.left == 0 {
		return foliot.Pending
	}
	if p.left--; p.left == 0 {
		p.over <- struct{}{}
	} else {
		p.next.Wake()
	}
	return foliot.Pending
}

// spawn makes players in a circle.
func (r *rally) spawn(rt *foliot.Runtime, players int) ([]foliot.TaskHandle, error) {
	all := make([]player, players)
	handles := make([]foliot.TaskHandle, players)
	for i := range all {
		all[i].rally = r
		h, err := rt.Spawn(&all[i])
		if err != nil {
			return nil, err
		}
		handles[i] = h
	}
	for i := range all {
		all[i].next = handles[(i+1)%players]
	}
	return handles, nil
}

func (r *rally) play(first foliot.TaskHandle, polls int) (lost int) {
	r.left = polls
	if !first.Wake() {
		return polls
	}
	<-r.over
	return 0
}

// inHall is how many are woken before the first of them is woken again.
const inHall = 1024

// A hall is tasks that do nothing but count their polls.
type hall struct {
	polled atomic.Int64
	_      [56]byte // what is below is not the worker's to write
	pauses int
	tasks  [inHall]foliot.TaskHandle
}

func (h *hall) Poll(*foliot.Context) foliot.Status {
	h.polled.Add(1)
	return foliot.Pending
}

func newHall(rt *foliot.Runtime) (*hall, error) {
	h := new(hall)
	for i := range h.tasks {
		t, err := rt.Spawn(h)
		if err != nil {
			return nil, err
		}
		h.tasks[i] = t
	}
	return h, nil
}

// call wakes the tasks by turns and returns when they have been polled as often. No task
// is woken again before all have been polled, as two wakes could be one poll then, and
// one less would be measured.
func (h *hall) call(times int) (lost int) {
	polled := h.polled.Load()
	for i := 0; i < times; i += inHall {
		some := min(inHall, times-i)
		for _, t := range h.tasks[:some] {
			if !t.Wake() {
				lost++
				some--
			}
		}
		polled += int64(some)
		for h.polled.Load() < polled {
			h.pause()
		}
	}
	return lost
}

// pause is for a worker on another processor to get on: to look at the count all the time
// would slow it down. Now and then it lets go of the processor, as the worker may need it.
func (h *hall) pause() {
	for range 200 {
	}
	if h.pauses++; h.pauses%100 == 0 {
		runtime.Gosched()
	}
}

// A street is goroutines that do nothing but count how often they were woken.
type street struct {
	woken atomic.Int64
	doors [inHall]chan struct{}
}

func newStreet() *street {
	s := new(street)
	for i := range s.doors {
		door := make(chan struct{})
		s.doors[i] = door
		go func() {
			for range door {
				s.woken.Add(1)
			}
		}()
	}
	return s
}

func (s *street) call(times int) (lost int) {
	want := s.woken.Load() + int64(times)
	for i := range times {
		s.doors[i%inHall] <- struct{}{}
	}
	for s.woken.Load() < want {
		runtime.Gosched()
	}
	return 0
}

func (s *street) close() {
	for _, door := range s.doors {
		close(door)
	}
}

// pingPong hands a value back and forth between two goroutines.
func pingPong(hops int) (lost int) {
	ping, pong := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(pong)
		for range ping {
			pong <- struct{}{}
		}
	}()
	for range hops / 2 {
		ping <- struct{}{}
		<-pong
	}
	close(ping)
	<-pong
	return 0
}

// yield has a goroutine go to the end of the line and run again.
func yield(times int) (lost int) {
	for range times {
		runtime.Gosched()
	}
	return 0
}
