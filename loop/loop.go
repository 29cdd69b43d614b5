package loop

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/internal/bubble"
	"github.com/foliot-go/foliot/wheel"
)

var (
	// ErrClosed is returned by Run, RunUntilIdle, Post and PostBatch after Close.
	ErrClosed = errors.New("loop: closed")

	// ErrRunning is returned by Run and RunUntilIdle while the loop is already running,
	// also to a callback that calls them.
	ErrRunning = errors.New("loop: Run called while the loop is running")
)

// Options configure a loop. The zero value is a good default.
type Options struct {
	// Clock is the clock of the loop. nil is the clock of the system.
	Clock Clock

	// AfterCall is called after every callback. A script host can run microtasks in it.
	// If the callback panics, AfterCall is called after OnPanic. If OnPanic is nil, it is
	// called before anything else when the loop continues.
	AfterCall func()

	// OnPanic is called when a callback or AfterCall panics, with the value of the panic
	// and a stack that shows where it happened. Then the loop continues. For panic(nil),
	// v is a *runtime.PanicNilError, with GODEBUG=panicnil=1 too. If OnPanic is nil, the
	// panic reaches the caller of Run, RunUntilIdle or Step.
	OnPanic func(v any, stack []byte)

	// SlowCallback is a limit for the time that a callback takes. A callback that takes
	// longer is logged, with its name if it has one (see [Handle.SetName]). 0 means that
	// nothing is logged.
	SlowCallback time.Duration

	// Logger logs slow callbacks and, on Linux, failures of the timerfd that Run waits
	// on: the first failure, and then none until a timerfd has worked again. If Logger is
	// nil, slow callbacks are logged to slog.Default(), and failures are not logged.
	Logger *slog.Logger
}

// A Call is a callback and its delay, for [Loop.CallLaterBatch].
type Call struct {
	After time.Duration
	Func  func()
}

// A Loop calls callbacks, one after the other, on the goroutine that calls [Loop.Run],
// [Loop.RunUntilIdle] or [Loop.Step]. That goroutine is called the loop's goroutine. It
// may be a different one for each call.
//
// Post, PostBatch, Stop, Close, Stats, Hold and the release function of Hold may be called
// from any goroutine. All other methods, including those of handles, may only be called from
// the loop's goroutine, or before the loop runs from the goroutine that prepares it. The
// race detector finds calls that break this rule.
type Loop struct {
	bubble string // the synctest bubble in which the loop was made; "": none. Set by New

	// state belongs to the loop's goroutine. Close, from any goroutine, replaces it by
	// nil and so drops all callbacks. That needs no lock: a goroutine that is using the
	// state keeps using it, and no other goroutine will see what it does there.
	state   atomic.Pointer[state]
	running atomic.Bool  // Run is running. Set and cleared by the goroutine that is in Run
	holds   atomic.Int64 // calls of Hold that were not released

	// Padding separates fields that other goroutines write all the time, those of the
	// inbox, from signals and state, which are mostly read.
	_       [64]byte
	signals signals
	_       [64]byte
	inbox   inbox
	_       [64]byte
	waker   waker
	view    view
}

// A state is the part of a loop that only the loop's goroutine uses.
type state struct {
	now        time.Duration // the Time of the iteration, or the latest reading outside
	start      time.Time     // the zero of the system's clock
	virtual    bool          // the clock is a virtual one
	bubble     string        // Loop.bubble
	iterating  bool          // an iteration is unfinished; a panic may have interrupted it
	inCallback bool          // the callbacks of an iteration are being called

	queue  queue
	timers *wheel.Wheel[func()]
	due    dueList

	afterCall     func()
	afterCallOwed bool // a callback has started, and AfterCall was not yet called for it
	onPanic       func(v any, stack []byte)
	slowCallback  time.Duration     // 0: slow callbacks are not logged
	logger        *slog.Logger      // nil: the user gave none
	names         map[callID]string // of pending callbacks that have a name; nil: none has
	plainCalls    bool              // afterCall, slowCallback and names are all unset

	lastPosts   int  // posts in the last iteration that had any
	gathersLeft int  // how many more times gatherPosts may wait
	mayLinger   bool // posts have come since the loop last lingered
}

// New returns a loop. A loop that is no longer used needs no Close: it has no goroutine,
// and it has a file descriptor only during Run.
func New(o Options) *Loop {
	s := &state{
		start:        time.Now(),
		afterCall:    o.AfterCall,
		onPanic:      o.OnPanic,
		slowCallback: max(o.SlowCallback, 0),
		logger:       o.Logger,
	}
	s.bubble = bubble.Current()
	if v, ok := o.Clock.(virtualClock); ok {
		s.virtual = true
		s.now = v.start
	}
	s.timers = wheel.New[func()](tickOf(s.now), 0)
	s.queue.base = 1
	s.updatePlainCalls()
	l := &Loop{bubble: s.bubble, waker: waker{wakeCh: make(chan struct{}, 1)}}
	l.view.wanted.Store(true)
	l.state.Store(s)
	return l
}

// updatePlainCalls sets plainCalls. It is called when a field that plainCalls depends on
// has changed.
func (s *state) updatePlainCalls() {
	s.plainCalls = s.afterCall == nil && s.slowCallback == 0 && s.names == nil
}

// readClock returns the time that the loop's clock shows at this moment.
func (s *state) readClock() time.Duration {
	if s.virtual {
		return s.now
	}
	now := time.Since(s.start)
	if now < 0 || s.bubble != "" {
		s.checkBubble(int64(now))
	}
	return now
}

// Time returns the time on the loop's clock. During an iteration it always returns the
// time at which the iteration began. Outside of an iteration it reads the clock.
func (l *Loop) Time() time.Duration {
	s := l.state.Load()
	if s == nil {
		return 0
	}
	if !s.iterating {
		s.now = s.readClock()
	}
	return s.now
}

// Stop makes Run return after the current iteration. If the loop is not running, the next
// Run returns after one iteration. No callback is lost, and Run may be called again. Stop
// panics if the loop was made in a synctest bubble and the caller is not in it.
func (l *Loop) Stop() {
	if l.cannotWake() {
		panic(errBubble)
	}
	l.signal(sigStopped)
}

// Close drops all callbacks and makes Run return ErrClosed. Close does not wait for a
// callback that is being called, and after it no other callback is started. On a closed
// loop CallSoon, CallLater, CallAt and CallLaterBatch do nothing and return zero Handles.
// Close may be called more than once. It returns nil, unless the loop was made in a synctest
// bubble and the caller is not in it: then it does nothing and returns an error.
func (l *Loop) Close() error {
	if l.cannotWake() {
		return errBubble
	}
	l.inbox.close()
	l.state.Store(nil)
	l.signal(sigClosed)
	return nil
}

// Hold tells the loop that work is being done elsewhere and that its result will be
// posted. Until release is called, RunUntilIdle does not return for lack of work, and a
// virtual clock does not jump. Call Post first, then release. Hold and release may be
// called from any goroutine. Further calls of release do nothing.
func (l *Loop) Hold() (release func()) {
	l.holds.Add(1)
	var released atomic.Bool
	return func() {
		if l.cannotWake() {
			panic(errBubble)
		}
		if released.CompareAndSwap(false, true) && l.holds.Add(-1) == 0 {
			l.signal(sigRecheck)
		}
	}
}

// signal sets a signal, and wakes the loop if it sleeps.
func (l *Loop) signal(sig signalBits) {
	if mode := l.signals.set(sig); mode != 0 {
		l.waker.wake(mode)
	}
}
