package foliot

import (
	"container/list"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/internal/bubble"
)

// A handoff is a callback that Options.Go is to run: from the moment its timer has fired until
// it is over. Options.Go is the user's: it may run the callback at once or much later, block
// because its pool is full, panic, or forget the callback. Whatever it does, the callback is
// run once, or counted by Shutdown. One compare-and-swap of taken decides which:
//
//	start     Options.Go has called the function that it got: the callback runs there
//	rescue    Options.Go has panicked or called Goexit, or dropped the function: the callback
//	          runs on a goroutine of the runtime
//	withdraw  Options.Go blocks while Shutdown waits: the callback is not run, and counts as
//	          armed
//
// Whoever comes later does nothing.
type handoff struct {
	w     *worker
	c     call
	taken atomic.Bool

	accepted atomic.Bool // Options.Go has returned: it will call the function, or has

	// These belong to the holder of handoffs.mu.
	fn    *handoffFunc // nil: nobody but Options.Go holds it any more, see handoffs.sweep
	given int64        // when Options.Go got it, in real time; 0: it has not
	in    *list.List   // which of the lists of handoffs it is in
	place *list.Element
}

// A handoffFunc is what the function holds that Options.Go gets. When nobody refers to it any
// more, the function can no longer be called.
type handoffFunc struct{ h *handoff }

// run is the function that Options.Go gets.
func (f *handoffFunc) run() {
	if h := f.h; h.take() {
		h.w.rt.spawned.Add(1)
		h.w.runSpawned(h.c)
	}
}

// take reports whether the caller is the one to decide about the callback. It takes the handoff
// out of the list.
func (h *handoff) take() bool {
	if !h.taken.CompareAndSwap(false, true) {
		return false
	}
	h.w.rt.handoffs.remove(h)
	return true
}

// rescue runs the callback on a goroutine of the runtime, unless it has been taken.
func (h *handoff) rescue(why string) {
	if !h.take() {
		return
	}
	rt := h.w.rt
	rt.handoffs.rescued.Add(1)
	rt.spawned.Add(1)
	go func() {
		rt.event(why, "callback", nameOf(h.c.fn))
		rt.label()
		h.w.runSpawned(h.c)
	}()
}

const (
	// sweepInterval is after what time a function that Options.Go got is suspected of having
	// been dropped.
	sweepInterval = int64(time.Second)

	// sweepMax bounds how many are looked at in one go.
	sweepMax = 1024
)

// handoffs are the handoffs of a runtime that nobody has taken.
type handoffs struct {
	rt      *Runtime
	timer   stdTimer // calls sweep; armed while there are any
	rescued atomic.Uint64

	mu       sync.Mutex
	held     list.List // those whose function is held here, the oldest first
	released list.List // the others
	armed    bool      // the timer is
	closed   bool      // by Shutdown
}

func (hs *handoffs) open(rt *Runtime) {
	hs.rt = rt
	hs.timer.open(rt, func(rt *Runtime) { rt.handoffs.releaseOld() })
}

// add makes a handoff of a callback. It returns nil if the runtime is shut down.
func (hs *handoffs) add(w *worker, c call) *handoff {
	h := &handoff{w: w, c: c}
	h.fn = &handoffFunc{h}
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.closed {
		return nil
	}
	h.in, h.place = &hs.held, hs.held.PushBack(h)
	if !hs.armed && hs.sweeps() {
		hs.armed = true
		hs.timer.reset(sweepInterval)
	}
	return h
}

func (hs *handoffs) remove(h *handoff) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h.in.Remove(h.place)
}

// sweeps reports whether functions that are dropped can be found. Not in a synctest bubble: a
// cleanup runs outside of it.
func (hs *handoffs) sweeps() bool {
	return bubble.Current() == "" && hs.rt.bubble == ""
}

// sweep finds functions that Options.Go has dropped. It stops holding those that Options.Go
// has had for long: their cleanup runs when nobody else holds them, either. A cleanup for each
// from the start would cost as much as all the rest.
func (hs *handoffs) releaseOld() {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	hs.release(sweepMax, sweepInterval)
	hs.armed = hs.held.Len() > 0 && !hs.closed
	if hs.armed {
		hs.timer.reset(sweepInterval)
	}
}

// release stops holding the functions that Options.Go has had for longer than a time. It looks
// at limit of them at most. The caller holds mu.
func (hs *handoffs) release(limit int, longer int64) {
	now := int64(time.Since(processStart))
	e := hs.held.Front()
	for n := 0; e != nil && n < limit; n++ {
		h := e.Value.(*handoff)
		e = e.Next()
		if h.given == 0 || now-h.given < longer {
			continue
		}
		runtime.AddCleanup(h.fn, func(h *handoff) {
			h.rescue("foliot: Options.Go has dropped a callback; it runs on a goroutine of the runtime")
		}, h)
		h.fn = nil
		hs.held.Remove(h.place)
		h.in, h.place = &hs.released, hs.released.PushBack(h)
	}
}

// findDropped finds those that Options.Go has dropped, without waiting for a sweep and a
// garbage collection to come.
func (hs *handoffs) findDropped() {
	if hs.rt.bubble != "" {
		return
	}
	hs.mu.Lock()
	hs.release(math.MaxInt, 0)
	found := hs.released.Len() > 0
	hs.mu.Unlock()
	if found {
		runtime.GC()
	}
}

// waiting returns how many there are.
func (hs *handoffs) waiting() int {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return hs.held.Len() + hs.released.Len()
}

// close ends the making of handoffs.
func (hs *handoffs) close() {
	hs.mu.Lock()
	hs.closed = true
	hs.mu.Unlock()
	hs.timer.stop()
}

// withdraw withdraws those that Options.Go has not accepted, and returns how many there were.
// It is called when Shutdown has waited for a while, so that Options.Go must be blocked.
func (hs *handoffs) withdraw() (n int) {
	for _, h := range hs.all() {
		if !h.accepted.Load() && h.take() {
			n++
			h.w.spawned.Add(-1)
			hs.rt.goroutines.done()
		}
	}
	return n
}

func (hs *handoffs) all() (all []*handoff) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for _, l := range []*list.List{&hs.held, &hs.released} {
		for e := l.Front(); e != nil; e = e.Next() {
			all = append(all, e.Value.(*handoff))
		}
	}
	return all
}

// goCalls are the calls of Options.Go for one worker. At most one of its goroutines is in such
// a call, and what comes meanwhile waits in the backlog. So a full pool holds up two goroutines
// at most: the one in Options.Go, and none of those that replace it.
type goCalls struct {
	caller atomic.Uint64 // numbers the goroutine that calls Options.Go; 0: none. Written under mu

	mu      sync.Mutex
	numbers uint64
	backlog []*handoff // still to be given to Options.Go, in order
	current *handoff   // what caller has given to it
	since   int64      // when
	claim   uint64     // the claim of the worker then: mostly the caller's own
}

// push adds a handoff to the backlog. If nobody calls Options.Go, the caller of push becomes
// the one that does, with the number that is returned; otherwise that is 0.
func (g *goCalls) push(h *handoff) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.backlog = append(g.backlog, h)
	return g.takeOver()
}

// takeOver makes the calling goroutine the one that calls Options.Go, if there is none and
// something to be called. The caller holds mu.
func (g *goCalls) takeOver() uint64 {
	if g.caller.Load() != 0 || len(g.backlog) == 0 {
		return 0
	}
	g.numbers++
	g.caller.Store(g.numbers)
	return g.numbers
}

// next returns what a caller of Options.Go has to give to it next. It returns nil if there is
// nothing left, or the caller was replaced.
func (g *goCalls) next(caller, claim uint64, now int64) *handoff {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.caller.Load() != caller {
		return nil
	}
	if len(g.backlog) == 0 {
		g.caller.Store(0)
		g.current, g.backlog = nil, nil
		return nil
	}
	g.current, g.since, g.claim = g.backlog[0], now, claim
	g.backlog[0] = nil
	g.backlog = g.backlog[1:]
	return g.current
}

// blocked returns the callback that the goroutine with a claim has given to Options.Go, and
// whether the pool behind that is full: the callback has not started. It returns nil if that
// goroutine is not in Options.Go.
func (g *goCalls) blocked(claim uint64) (fn func(), full bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.caller.Load() == 0 || g.current == nil || g.claim != claim {
		return nil, false
	}
	return g.current.c.fn, !g.current.taken.Load()
}

// replace makes room for another caller if the one there is held up by a callback that it runs
// itself, or if it has the given number. The new caller's number is returned if there is a
// backlog for it, otherwise 0.
func (g *goCalls) replace(now int64, caller uint64) uint64 {
	if g.caller.Load() == 0 {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	stuck := g.current != nil && g.current.taken.Load() && now-g.since >= patience
	if !stuck && g.caller.Load() != caller {
		return 0
	}
	g.caller.Store(0)
	g.current = nil
	return g.takeOver()
}

// hand has a callback run by Options.Go. It returns false if the runtime is shut down: then
// the worker runs it.
func (w *worker) callGoFor(c call, now int64) bool {
	h := w.handoff(c)
	switch {
	case h == nil:
		return false
	case w.shouldSpawn(now):
		w.rt.goroutines.add()
		go w.callGoAlone(h)
	default:
		if caller := w.goCalls.push(h); caller != 0 {
			w.callGo(caller)
		}
	}
	return true
}

// handLater is hand on a goroutine that must not be held up by Options.Go.
func (w *worker) callGoLater(c call) {
	h := w.handoff(c)
	if h == nil {
		w.spawn(c)
		return
	}
	w.startCaller(w.goCalls.push(h))
}

// handoff makes a handoff and counts it.
func (w *worker) handoff(c call) *handoff {
	h := w.rt.handoffs.add(w, c)
	if h != nil {
		w.spawned.Add(1)
		w.rt.goroutines.add()
	}
	return h
}

// startCaller starts a goroutine that calls Options.Go, unless its number is 0.
func (w *worker) startCaller(caller uint64) {
	if caller != 0 {
		w.rt.goroutines.add()
		go func() {
			defer w.rt.goroutines.done()
			w.callGo(caller)
		}()
	}
}

// callGo gives Options.Go what is in the backlog.
func (w *worker) callGo(caller uint64) {
	returned := false
	defer func() {
		if !returned {
			w.startCaller(w.goCalls.replace(0, caller))
		}
	}()
	for {
		h := w.goCalls.next(caller, w.busy.Load(), w.rt.now())
		if h == nil {
			break
		}
		w.callGoOnce(h)
	}
	returned = true
}

func (w *worker) callGoAlone(h *handoff) {
	defer w.rt.goroutines.done()
	w.callGoOnce(h)
}

// callGoOnce gives a callback to Options.Go. Shutdown does not wait for the goroutine as long
// as it is in there: it waits for the callback, or withdraws it. If the call does not return
// normally, the callback is run without it.
func (w *worker) callGoOnce(h *handoff) {
	if h.taken.Load() {
		return
	}
	rt := w.rt
	fn := rt.handoffs.give(h)
	returned := false
	rt.goroutines.done()
	defer func() {
		rt.goroutines.add()
		rt.label()
		if !returned {
			h.rescue("foliot: Options.Go has not returned normally; its callback runs on a goroutine of the runtime")
		}
	}()
	unlabel() // goroutines that it starts would have the label for good
	if rt.onPanic == nil {
		rt.goFunc(fn.run)
	} else if p := catch(func() { rt.goFunc(fn.run) }); p != nil {
		rt.reportPanic(p)
		return
	}
	h.accepted.Store(true)
	returned = true
}

// give returns what Options.Go gets, and notes that it has.
func (hs *handoffs) give(h *handoff) *handoffFunc {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h.given = int64(time.Since(processStart))
	return h.fn
}
