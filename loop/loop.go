package loop

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/internal/bubble"
	"github.com/foliot-go/foliot/internal/wheel"
)

var (
	// ErrClosed is returned by Run, RunUntilIdle, Post and PostBatch after Close.
	ErrClosed = errors.New("loop: closed")

	// ErrRunning is returned by Run and RunUntilIdle while the loop is already running, even when a
	// callback calls them.
	ErrRunning = errors.New("loop: Run called while the loop is running")
)

// Options configure a loop. The zero value is a good default.
type Options struct {
	// Clock is the loop's clock. nil means the system clock.
	Clock Clock

	// AfterCall is called after every callback. A script host can run microtasks in it. If the
	// callback panics, AfterCall is called after OnPanic or, if OnPanic is nil, before anything
	// else when the loop continues.
	AfterCall func()

	// OnPanic is called when a callback or AfterCall panics, with the panic value and a
	// stack that shows where it happened. The loop then continues. For panic(nil), v is a
	// *runtime.PanicNilError, even with GODEBUG=panicnil=1. If OnPanic is nil, the panic
	// reaches the caller of Run, RunUntilIdle or Step.
	OnPanic func(v any, stack []byte)

	// SlowCallback makes the loop log every callback that takes longer than this, with its
	// function's name. 0 means that none is logged.
	SlowCallback time.Duration

	// Logger logs slow callbacks and, on Linux, failures of the timerfd that Run waits on:
	// the first one, and then none until a timerfd has worked again. If Logger is nil,
	// slow callbacks are logged to slog.Default(), and failures are not logged.
	Logger *slog.Logger
}

// A Call is a callback and its delay, for [Loop.CallLaterBatch].
type Call struct {
	After time.Duration
	Func  func()
}

// A Loop calls callbacks, one after the other, on the goroutine that calls [Loop.Run],
// [Loop.RunUntilIdle] or [Loop.Step]. That goroutine, which may be a different one for each
// call, is called the loop's goroutine.
//
// Post, PostBatch, Stop, Close, Stats, Hold and Hold's release function may be called from
// any goroutine. All other methods, including those of handles, may only be called from the
// loop's goroutine or, before the loop runs, from the goroutine that prepares it. The race
// detector finds calls that break this rule.
type Loop struct {
	bubble string // the synctest bubble in which the loop was created; "": none. Set by New

	// state belongs to the loop's goroutine. Close, called from any goroutine, replaces it with nil
	// and so drops all callbacks. That needs no lock: a goroutine that is using the state keeps
	// using it, and no other goroutine will see what it does there.
	state   atomic.Pointer[state]
	running atomic.Bool  // Run is running. Set and cleared by the goroutine that is in Run
	holds   atomic.Int64 // calls to Hold that were not released

	// Padding separates the inbox, which other goroutines write to all the time, from signals and
	// state, which are mostly read.
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
	now        time.Duration // the iteration's Time, or the latest reading outside of one
	start      time.Time     // the zero of the system clock
	virtual    bool          // the clock is a virtual one
	bubble     string        // Loop.bubble
	iterating  bool          // an iteration is unfinished; a panic may have interrupted it
	inCallback bool          // the callbacks of an iteration are being called

	queue  queue
	timers *wheel.Wheel[func()]
	due    dueList

	afterCall     func()
	afterCallOwed bool // a callback started for which AfterCall was not called yet
	onPanic       func(v any, stack []byte)
	slowCallback  time.Duration // 0: slow callbacks are not logged
	logger        *slog.Logger  // nil: the user gave none
	plainCalls    bool          // neither afterCall nor slowCallback is set

	lastPosts   int  // posts in the last iteration that had any
	gathersLeft int  // how many more times gatherPosts may wait
	mayLinger   bool // posts have come since the loop last lingered
}

// New returns a loop. A loop that is no longer used need not be closed: it has no
// goroutine, and holds a file descriptor only during Run.
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
	s.timers = wheel.New[func()](toTick(s.now), 0)
	s.queue.base = 1
	s.plainCalls = s.afterCall == nil && s.slowCallback == 0
	l := &Loop{bubble: s.bubble, waker: waker{wakeCh: make(chan struct{}, 1)}}
	l.view.wanted.Store(true)
	l.state.Store(s)
	return l
}

// readClock returns the current time on the loop's clock.
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

// Time returns the time on the loop's clock. During an iteration, that is the time at which
// the iteration began. Outside of one, Time reads the clock.
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

// Stop makes Run return after the current iteration or, if the loop is not running, the next
// Run return after one iteration. No callback is lost, and Run may be called again.
func (l *Loop) Stop() {
	if l.cannotWake() {
		panic(errBubble)
	}
	l.signal(sigStopped)
}

// Close drops all callbacks and makes Run return ErrClosed. It does not wait for a running
// callback, and no other callback starts after it returns. On a closed loop CallSoon, CallLater,
// CallAt and CallLaterBatch do nothing and return zero Handles. Close may be called more than once.
// It returns nil, except in a foreign synctest bubble, where it does nothing and returns an error.
func (l *Loop) Close() error {
	if l.cannotWake() {
		return errBubble
	}
	l.inbox.close()
	l.state.Store(nil)
	l.signal(sigClosed)
	return nil
}

// Hold tells the loop that work is in flight elsewhere and that its result will be posted.
// Until release is called, RunUntilIdle does not return for lack of work, and a virtual
// clock does not jump. Call Post first, then release. Hold and release may be called from
// any goroutine. Calling release again does nothing.
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

// signal sets a signal, and wakes the loop if it is asleep.
func (l *Loop) signal(sig signalBits) {
	if mode := l.signals.set(sig); mode != 0 {
		l.waker.wake(mode)
	}
}
