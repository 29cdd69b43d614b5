package engine

import (
	"container/list"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/internal/bubble"
)

// A handoff is a callback that Config.Go should run. Config.Go is code of the user. It may
// run the callback at once or much later. It may also block because a pool is full, panic, or
// drop the callback. In each case the callback runs exactly once, or Shutdown counts it as
// armed. One compare-and-swap of taken decides what happens:
//
//	run       Config.Go has called the function that it was given: the callback runs there
//	rescue    Config.Go has panicked, has called Goexit or has dropped the function: the
//	          callback runs on a goroutine of the engine
//	withdraw  Config.Go blocks while Shutdown waits: the callback does not run, and counts as
//	          armed
//
// The first of them succeeds. The others do nothing.
type handoff struct {
	w     *worker
	c     call
	taken atomic.Bool

	accepted atomic.Bool // Config.Go has returned normally, so it has called the function or will

	// These are protected by handoffs.mu.
	fn    *handoffFunc // nil: only Config.Go may still hold it, see handoffs.releaseOld
	given int64        // when it was passed to Config.Go, in real time; 0: not yet
	in    *list.List   // the list of handoffs that it is in
	place *list.Element
}

// A handoffFunc is the receiver of the function that Config.Go is given. When it is
// unreachable, the function cannot be called any more.
type handoffFunc struct{ h *handoff }

// run is the function that Config.Go is given.
func (f *handoffFunc) run() {
	if h := f.h; h.take() {
		h.c.countStart()
		h.w.eng.spawned.Add(1)
		h.w.runSpawned(h.c)
	}
}

// take reports whether the caller is the first to take the handoff. If so, take removes the
// handoff from its list.
func (h *handoff) take() bool {
	if !h.taken.CompareAndSwap(false, true) {
		return false
	}
	h.w.eng.handoffs.remove(h)
	return true
}

// rescue runs the callback on a goroutine of the engine, unless the handoff was taken. why is
// the log message.
func (h *handoff) rescue(why string) {
	if !h.take() {
		return
	}
	eng := h.w.eng
	h.c.countStart()
	eng.handoffs.rescued.Add(1)
	eng.spawned.Add(1)
	go func() {
		eng.event(why, "callback", eng.nameOf(pointer(h.c.fn)))
		eng.label()
		h.w.runSpawned(h.c)
	}()
}

const (
	// releaseAfter is how long Config.Go may have a function without calling it before
	// releaseOld releases it. It is also the time between two calls of releaseOld.
	releaseAfter = int64(time.Second)

	// releaseMax bounds how many handoffs releaseOld looks at with the lock held.
	releaseMax = 1024
)

// handoffs has the handoffs of an engine that have not been taken.
type handoffs struct {
	eng     *Engine
	timer   stdTimer // calls releaseOld. Armed while held is not empty
	rescued atomic.Uint64

	mu       sync.Mutex
	held     list.List // handoffs with fn set, the oldest first
	released list.List // handoffs without fn
	armed    bool      // timer is armed
	closed   bool      // the engine is shut down
}

func (hs *handoffs) open(eng *Engine) {
	hs.eng = eng
	hs.timer.open(eng, 1, func(eng *Engine) { eng.handoffs.releaseOld() })
}

// add makes a handoff for a callback. It returns nil if the engine is shut down.
func (hs *handoffs) add(w *worker, c call) *handoff {
	h := &handoff{w: w, c: c}
	h.fn = &handoffFunc{h}
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.closed {
		return nil
	}
	h.in, h.place = &hs.held, hs.held.PushBack(h)
	if !hs.armed && hs.findsDropped() {
		hs.armed = true
		hs.timer.reset(releaseAfter)
	}
	return h
}

func (hs *handoffs) remove(h *handoff) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h.in.Remove(h.place)
}

// findsDropped reports whether dropped functions can be found. They cannot in a synctest bubble,
// because a cleanup runs outside of the bubble.
func (hs *handoffs) findsDropped() bool {
	return bubble.Current() == "" && hs.eng.bubble == ""
}

// releaseOld finds functions that Config.Go has dropped. It releases functions that
// Config.Go has had for a long time, and gives them a cleanup. If Config.Go does not hold
// such a function either, its cleanup runs after the next garbage collection. A cleanup for
// each function from the start would double the cost of a handoff.
func (hs *handoffs) releaseOld() {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	hs.release(releaseMax, releaseAfter)
	hs.armed = hs.held.Len() > 0 && !hs.closed
	if hs.armed {
		hs.timer.reset(releaseAfter)
	}
}

// release releases the functions that Config.Go has had for at least the time longer. It
// looks at no more than limit handoffs. The caller holds mu.
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

// findDropped finds functions that Config.Go has dropped, without waiting for releaseOld and
// for a garbage collection.
func (hs *handoffs) findDropped() {
	if hs.eng.bubble != "" {
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

// waiting returns the number of handoffs that have not been taken.
func (hs *handoffs) waiting() int {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return hs.held.Len() + hs.released.Len()
}

// close makes add return nil from now on.
func (hs *handoffs) close() {
	hs.mu.Lock()
	hs.closed = true
	hs.mu.Unlock()
	hs.timer.stop()
}

// withdraw takes the handoffs that Config.Go has not accepted, and returns how many there
// were. Their callbacks do not run. Shutdown calls it after it has waited for some time:
// Config.Go is taken to be blocked then.
func (hs *handoffs) withdraw() (n int) {
	for _, h := range hs.all() {
		if !h.accepted.Load() && h.take() {
			n++
			h.w.spawned.Add(-1)
			hs.eng.goroutines.done()
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

// goCalls manages the calls of Config.Go for one worker. One goroutine at a time is its
// caller: it passes the handoffs of the backlog to Config.Go. Handoffs that arrive while the
// caller is in Config.Go wait in the backlog. So a full pool blocks one goroutine of a
// worker, and not also the goroutines that replace it. While the worker starts a goroutine for
// each callback, those goroutines call Config.Go themselves, see callGoAlone.
type goCalls struct {
	caller atomic.Uint64 // the number of the current caller; 0: there is none. Written under mu

	mu      sync.Mutex
	numbers uint64     // the number of the last caller
	backlog []*handoff // handoffs that Config.Go has not been given, the oldest first
	current *handoff   // the handoff that the caller has passed to Config.Go last
	since   int64      // when the caller has passed it
	claim   uint64     // worker.busy at that time: in most cases the claim of the caller
}

// push adds a handoff to the backlog. If there is no caller, the calling goroutine becomes the
// caller, and push returns its number. Otherwise push returns 0.
func (g *goCalls) push(h *handoff) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.backlog = append(g.backlog, h)
	return g.takeOver()
}

// takeOver returns the number for a new caller. It returns 0 if there is a caller, or if the
// backlog is empty. mu is held.
func (g *goCalls) takeOver() uint64 {
	if g.caller.Load() != 0 || len(g.backlog) == 0 {
		return 0
	}
	g.numbers++
	g.caller.Store(g.numbers)
	return g.numbers
}

// next returns the handoff that a caller must pass to Config.Go next. It returns nil if the
// backlog is empty or the caller was replaced.
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

// blocked returns the callback that the goroutine with a claim has passed to Config.Go. full
// says that the callback has not started, so that the pool behind Config.Go seems to be full.
// blocked returns nil if that goroutine is not in Config.Go.
func (g *goCalls) blocked(claim uint64) (fn func(), full bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.caller.Load() == 0 || g.current == nil || g.claim != claim {
		return nil, false
	}
	return g.current.c.fn, !g.current.taken.Load()
}

// replace ends the role of the current caller if its number is the given one. It also does so
// if the callback has started and Config.Go has not returned for too long: then Config.Go
// seems to run the callback on the caller's goroutine. replace returns the number for a new
// caller if it has ended the role and the backlog is not empty. Otherwise it returns 0.
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

// callGoFor has Config.Go run a callback. It returns false if the engine is shut down. Then
// the worker must run the callback.
func (w *worker) callGoFor(c call, now int64) bool {
	h := w.handoff(c)
	switch {
	case h == nil:
		return false
	case w.shouldSpawn(now):
		w.eng.goroutines.add()
		go w.callGoAlone(h)
	default:
		if caller := w.goCalls.push(h); caller != 0 {
			w.callGo(caller)
		}
	}
	return true
}

// callGoLater has Config.Go run a callback. It does not block: another goroutine calls
// Config.Go.
func (w *worker) callGoLater(c call) {
	h := w.handoff(c)
	if h == nil {
		c.countStart()
		w.spawn(c)
		return
	}
	w.startCaller(w.goCalls.push(h))
}

// handoff makes a handoff and counts it. It returns nil if the engine is shut down.
func (w *worker) handoff(c call) *handoff {
	h := w.eng.handoffs.add(w, c)
	if h != nil {
		w.spawned.Add(1)
		w.eng.goroutines.add()
	}
	return h
}

// startCaller starts a goroutine that is the caller with a number. If the number is 0, it does
// nothing.
func (w *worker) startCaller(caller uint64) {
	if caller != 0 {
		w.eng.goroutines.add()
		go func() {
			defer w.eng.goroutines.done()
			w.callGo(caller)
		}()
	}
}

// callGo passes the handoffs of the backlog to Config.Go. The calling goroutine is the caller
// with the given number. If Config.Go ends the goroutine, a new one continues.
func (w *worker) callGo(caller uint64) {
	returned := false
	defer func() {
		if !returned {
			w.startCaller(w.goCalls.replace(0, caller))
		}
	}()
	for {
		h := w.goCalls.next(caller, w.busy.Load(), w.eng.Now())
		if h == nil {
			break
		}
		w.callGoOnce(h)
	}
	returned = true
}

func (w *worker) callGoAlone(h *handoff) {
	defer w.eng.goroutines.done()
	w.callGoOnce(h)
}

// callGoOnce passes a callback to Config.Go. Shutdown does not wait for this goroutine if
// Config.Go blocks: it waits for the callback, or withdraws it. If Config.Go does not return
// normally, the callback runs on a goroutine of the engine.
func (w *worker) callGoOnce(h *handoff) {
	if h.taken.Load() {
		return
	}
	eng := w.eng
	fn := eng.handoffs.give(h)
	returned := false
	eng.goroutines.addInGo(1)
	defer func() {
		eng.goroutines.addInGo(-1)
		eng.label()
		if !returned {
			h.rescue("foliot: Options.Go did not return normally; its callback runs on a goroutine of the runtime")
		}
	}()
	unlabel() // a goroutine that Config.Go starts would inherit the label and keep it
	if eng.onPanic == nil {
		eng.goFunc(fn.run)
	} else if p := catch(func() { eng.goFunc(fn.run) }); p != nil {
		eng.reportPanic(p)
		return
	}
	h.accepted.Store(true)
	returned = true
}

// give returns the function for Config.Go, and stores the time.
func (hs *handoffs) give(h *handoff) *handoffFunc {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h.given = int64(time.Since(processStart))
	return h.fn
}
