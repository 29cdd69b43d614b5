package main

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// A taskWork is what tasks and goroutines can both do. It does ops of it and returns how many failed.
type taskWork map[string]func(ops int) (failed int)

// tasks measures the time from a wake to the poll of a task against that from a wake to the run of a goroutine, and the
// life of a task that ends at once against that of a goroutine.
func tasks(r *run) error {
	rt, err := foliot.New(foliot.Options{Workers: 1})
	if err != nil {
		return err
	}
	defer shutdown(rt)
	spawning, err := foliot.New(foliot.Options{})
	if err != nil {
		return err
	}
	defer shutdown(spawning)
	alone := &wakeChain{done: make(chan struct{}, 1)}
	both := &wakeChain{done: make(chan struct{}, 1)}
	self, err := alone.spawn(rt, 1)
	if err != nil {
		return err
	}
	two, err := both.spawn(rt, 2)
	if err != nil {
		return err
	}
	group, err := newTaskGroup(rt)
	if err != nil {
		return err
	}
	waitUntilPolled(rt, 1+2+groupSize)
	goroutines := newGoroutineGroup()
	defer goroutines.close()
	all := enter(r, []maker[taskWork]{
		{"goroutines", always(taskWork{
			"task-wake-self": yield,
			"task-wake-pair": pingPong,
			"task-wake-many": goroutines.wakeInTurn,
			"task-spawn": func(ops int) int {
				return new(shortTask).runAll(ops, func(t *shortTask) bool { go t.run(); return true })
			},
		})},
		{"tasks", always(taskWork{
			"task-wake-self": func(ops int) int { return alone.run(self[0], ops) },
			"task-wake-pair": func(ops int) int { return both.run(two[0], ops) },
			"task-wake-many": group.wakeInTurn,
			"task-spawn": func(ops int) int {
				return new(shortTask).runAll(ops, func(t *shortTask) bool { _, err := spawning.Spawn(t); return err == nil })
			},
		})},
	})
	for _, name := range []string{"task-wake-self", "task-wake-pair", "task-wake-many", "task-spawn"} {
		if r.measures(name) {
			turns(r, r.rounds, all, func(_ int, e *entrant[taskWork]) ([]result, error) {
				return e.cost(r, work{name: name, garbage: name == "task-spawn", most: 5 * r.n, do: e.it[name]})
			})
		}
	}
	return nil
}

// waitUntilPolled waits for the first poll, which follows the spawn, of all tasks of a runtime.
func waitUntilPolled(rt *foliot.Runtime, tasks uint64) {
	for rt.Stats().TaskPolls < tasks {
		time.Sleep(50 * time.Microsecond)
	}
}

// A wakeChain is a number of polls that tasks make in turn. Each task wakes the next one. The task being polled owns
// the chain. Between runs no task is woken, and the caller of run owns it.
type wakeChain struct {
	left int           // polls still to make
	done chan struct{} // receives when the last poll was made
}

// A chainTask is a task of a wakeChain.
type chainTask struct {
	*wakeChain
	next foliot.TaskHandle
}

func (t *chainTask) Poll(*foliot.Context) foliot.Status {
	if t.left == 0 {
		return foliot.Pending
	}
	if t.left--; t.left == 0 {
		t.done <- struct{}{}
	} else {
		t.next.Wake()
	}
	return foliot.Pending
}

// spawn spawns tasks that wake each other in a circle.
func (c *wakeChain) spawn(rt *foliot.Runtime, tasks int) ([]foliot.TaskHandle, error) {
	all := make([]chainTask, tasks)
	handles := make([]foliot.TaskHandle, tasks)
	for i := range all {
		all[i].wakeChain = c
		h, err := rt.Spawn(&all[i])
		if err != nil {
			return nil, err
		}
		handles[i] = h
	}
	for i := range all {
		all[i].next = handles[(i+1)%tasks]
	}
	return handles, nil
}

func (c *wakeChain) run(first foliot.TaskHandle, polls int) (failed int) {
	c.left = polls
	if !first.Wake() {
		return polls
	}
	<-c.done
	return 0
}

// groupSize is the number of tasks or goroutines that are woken in turn.
const groupSize = 1024

// A taskGroup is tasks that only count their polls.
type taskGroup struct {
	polled atomic.Int64 // written by the worker, which should not share a cache line with the fields below
	_      [56]byte
	pauses int
	tasks  [groupSize]foliot.TaskHandle
}

func (g *taskGroup) Poll(*foliot.Context) foliot.Status {
	g.polled.Add(1)
	return foliot.Pending
}

func newTaskGroup(rt *foliot.Runtime) (*taskGroup, error) {
	g := new(taskGroup)
	for i := range g.tasks {
		t, err := rt.Spawn(g)
		if err != nil {
			return nil, err
		}
		g.tasks[i] = t
	}
	return g, nil
}

// wakeInTurn wakes the tasks one after the other, times in all, and returns when there were as many polls. It returns
// how many wakes failed. No task is woken again before all were polled: otherwise two wakes could lead to a single
// poll, and less work would be measured.
func (g *taskGroup) wakeInTurn(times int) (failed int) {
	polled := g.polled.Load()
	for i := 0; i < times; i += groupSize {
		woken := min(groupSize, times-i)
		for _, t := range g.tasks[:woken] {
			if !t.Wake() {
				failed++
				woken--
			}
		}
		polled += int64(woken)
		for g.polled.Load() < polled {
			g.pause()
		}
	}
	return failed
}

// pause waits a moment between two looks at the count. Reading it all the time would slow down the worker on another
// processor. Now and then pause yields, because the worker may need this processor.
func (g *taskGroup) pause() {
	for range 200 {
	}
	if g.pauses++; g.pauses%100 == 0 {
		runtime.Gosched()
	}
}

// A goroutineGroup is goroutines that only count how often they were woken.
type goroutineGroup struct {
	woken    atomic.Int64
	channels [groupSize]chan struct{}
}

func newGoroutineGroup() *goroutineGroup {
	g := new(goroutineGroup)
	for i := range g.channels {
		c := make(chan struct{})
		g.channels[i] = c
		go func() {
			for range c {
				g.woken.Add(1)
			}
		}()
	}
	return g
}

func (g *goroutineGroup) wakeInTurn(times int) (failed int) {
	want := g.woken.Load() + int64(times)
	for i := range times {
		g.channels[i%groupSize] <- struct{}{}
	}
	for g.woken.Load() < want {
		runtime.Gosched()
	}
	return 0
}

func (g *goroutineGroup) close() {
	for _, c := range g.channels {
		close(c)
	}
}

// pingPong sends a value back and forth between two goroutines.
func pingPong(hops int) (failed int) {
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

// yield lets a goroutine go to the end of the run queue and run again.
func yield(times int) (failed int) {
	for range times {
		runtime.Gosched()
	}
	return 0
}

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
