package engine

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A handoff is a callback that Config.Go is to run. Config.Go is user code: it may run the callback
// immediately or much later, block because a pool is full, panic, or call Goexit. In each case the
// callback runs exactly once, or Shutdown counts it as armed. Three methods compete to set taken, by
// compare-and-swap:
//
//	run       Config.Go calls the function it was given: the callback runs there
//	rescue    Config.Go panics or calls Goexit: the callback runs on a goroutine of the engine
//	withdraw  Config.Go is not called, or does not return, while Shutdown waits: the callback
//	          does not run, and counts as armed
//
// The first one wins, and the others do nothing. A function that Config.Go neither calls nor passes
// on never runs, and Shutdown waits for it.
type handoff struct {
	w        *worker
	c        call
	taken    atomic.Bool
	detached bool // Shutdown no longer waits for the goroutine in Config.Go. Protected by goCalls.mu
}

// run is the function passed to Config.Go.
func (h *handoff) run() {
	if h.take() {
		h.start()
	}
}

// take reports whether the caller is the first to take the handoff.
func (h *handoff) take() bool {
	if !h.taken.CompareAndSwap(false, true) {
		return false
	}
	h.w.handed.Add(-1)
	return true
}

// start runs the callback. The caller has taken the handoff.
func (h *handoff) start() {
	h.c.countStart()
	h.w.apart.Add(1)
	h.w.runApart(h.c)
}

// rescue runs the callback on a goroutine of the engine, unless the handoff is already taken.
func (h *handoff) rescue() {
	if !h.take() {
		return
	}
	eng := h.w.eng
	eng.rescued.Add(1)
	go eng.event("foliot: Options.Go did not return normally; its callback runs on a goroutine of the runtime",
		"callback", eng.callbackName(pointer(h.c.fn))) // the logger may be slow
	go func() {
		eng.label()
		h.start()
	}()
}

// goCalls manages one worker's calls to Config.Go. One goroutine at a time is the caller, which
// passes the handoffs in the backlog to Config.Go. Handoffs that arrive while the caller is in
// Config.Go wait in the backlog, so that a full pool blocks only one of the worker's goroutines and
// not also those that replace it. While the worker spawns callbacks, each gets a goroutine that calls
// Config.Go itself (see callGoAlone).
//
// A handoff is in backlog, then in calls until Config.Go returns. Shutdown withdraws what it finds in
// the two lists and sets closed, without unlocking mu in between. A goroutine that comes later with a
// callback, because it was delayed between the pop and the push, is refused and runs the callback
// itself.
type goCalls struct {
	caller atomic.Uint64 // the number of the current caller; 0: none. Written under mu

	mu      sync.Mutex
	closed  bool       // Shutdown has withdrawn what Config.Go had not accepted
	numbers uint64     // the number of the last caller
	backlog []*handoff // handoffs not yet passed to Config.Go, oldest first
	calls   []*handoff // handoffs passed to Config.Go, which has not returned yet
	current *handoff   // the handoff that the caller passed to Config.Go last
	since   int64      // when the caller passed it
	claim   uint64     // worker.busy at that time, usually the caller's claim
}

// push adds a handoff to the backlog. If there is no caller, the calling goroutine becomes it, and
// push returns its number; otherwise push returns 0. ok is false if the handoff is refused.
func (g *goCalls) push(h *handoff) (caller uint64, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return 0, false
	}
	g.backlog = append(g.backlog, h)
	return g.takeOver(), true
}

// begin is like push, for a goroutine that passes the handoff to Config.Go itself.
func (g *goCalls) begin(h *handoff) (ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.calls = append(g.calls, h)
	return true
}

// end records that Config.Go returned. left reports that withdraw took the calling goroutine out of
// the goroutineGroup.
func (g *goCalls) end(h *handoff) (left bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.calls, h)
	g.calls = slices.Delete(g.calls, i, i+1)
	return h.detached
}

// withdraw takes the handoffs that Config.Go has not accepted, so that their callbacks do not run,
// and returns how many there were. left is the number of goroutines in Config.Go that Shutdown no
// longer waits for; it does wait for the callbacks that they started. From now on handoffs are
// refused.
func (g *goCalls) withdraw() (taken, left int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, h := range slices.Concat(g.backlog, g.calls) {
		if h.take() {
			taken++
		}
	}
	for _, h := range g.calls {
		if !h.detached {
			h.detached = true
			left++
		}
	}
	g.backlog = nil
	return taken, left
}

// takeOver returns the number for a new caller, or 0 if there already is one or the backlog is empty.
// mu is held.
func (g *goCalls) takeOver() uint64 {
	if g.caller.Load() != 0 || len(g.backlog) == 0 {
		return 0
	}
	g.numbers++
	g.caller.Store(g.numbers)
	return g.numbers
}

// next returns the handoff that a caller must pass to Config.Go next. It returns nil if the caller
// was replaced, or if the backlog is empty, which ends the caller's role.
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
	g.calls = append(g.calls, g.current)
	return g.current
}

// blocked returns the callback that the goroutine with the given claim passed to Config.Go, or nil if
// that goroutine is not in Config.Go. full reports that the callback has not started, so that the
// pool behind Config.Go appears to be full.
func (g *goCalls) blocked(claim uint64) (fn func(), full bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.caller.Load() == 0 || g.current == nil || g.claim != claim {
		return nil, false
	}
	return g.current.c.fn, !g.current.taken.Load()
}

// replace ends the current caller's role if its number is the given one. It also does so if the
// callback has started and Config.Go has not returned for too long, in which case Config.Go appears
// to run the callback on the caller's goroutine. replace returns the number for a new caller, or 0 if
// it did not end the role or the backlog is empty.
func (g *goCalls) replace(now int64, caller uint64) uint64 {
	if g.caller.Load() == 0 {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	stuck := g.current != nil && g.current.taken.Load() && now-g.since >= blockedAfter
	if !stuck && g.caller.Load() != caller {
		return 0
	}
	g.caller.Store(0)
	g.current = nil
	return g.takeOver()
}

// callGoFor hands a callback to Config.Go. It returns false if the callback is refused, in which case
// the worker must run it.
func (w *worker) callGoFor(c call, now int64) bool {
	h := w.handoff(c)
	if w.shouldSpawn(now) {
		if !w.goCalls.begin(h) {
			return w.refused(h)
		}
		w.eng.goroutines.add()
		go w.callGoAlone(h)
		return true
	}
	caller, ok := w.goCalls.push(h)
	if !ok {
		return w.refused(h)
	}
	if caller != 0 {
		w.callGo(caller)
	}
	return true
}

// callGoLater hands a callback to Config.Go without blocking: another goroutine calls Config.Go.
func (w *worker) callGoLater(c call) {
	h := w.handoff(c)
	caller, ok := w.goCalls.push(h)
	if !ok {
		w.refused(h)
		c.countStart()
		w.spawn(c)
		return
	}
	w.startCaller(caller)
}

// handoff creates a handoff and counts it. Until its callback returns, it counts as a goroutine that
// Shutdown waits for.
func (w *worker) handoff(c call) *handoff {
	w.handed.Add(1)
	w.eng.goroutines.add()
	return &handoff{w: w, c: c}
}

// refused undoes the counting in handoff. It returns false.
func (w *worker) refused(h *handoff) bool {
	h.take()
	w.eng.goroutines.done()
	return false
}

// startCaller starts a goroutine as the caller with the given number. If that is 0, it does nothing.
func (w *worker) startCaller(caller uint64) {
	if caller != 0 {
		w.eng.goroutines.add()
		go func() {
			defer w.eng.goroutines.done()
			w.callGo(caller)
		}()
	}
}

// callGo passes the handoffs in the backlog to Config.Go. The calling goroutine is the caller with
// the given number. If Config.Go ends it, a new one takes over.
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

// callGoAlone passes a single callback to Config.Go, on a goroutine of its own.
func (w *worker) callGoAlone(h *handoff) {
	defer w.eng.goroutines.done()
	w.callGoOnce(h)
}

// callGoOnce passes a callback to Config.Go. If Config.Go does not return normally, the callback is
// rescued.
func (w *worker) callGoOnce(h *handoff) {
	eng := w.eng
	returned := false
	defer func() {
		if w.goCalls.end(h) {
			eng.goroutines.add()
		}
		eng.label()
		if !returned {
			h.rescue()
		}
	}()
	unlabel() // a goroutine that Config.Go starts would inherit the label and keep it
	if eng.OnPanic == nil {
		eng.Go(h.run)
	} else if p := catch(func() { eng.Go(h.run) }); p != nil {
		eng.reportPanic(p)
		return
	}
	returned = true
}
