package loop

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/wheel"
)

var (
	// ErrClosed is the answer of a loop that was closed.
	ErrClosed = errors.New("loop: closed")

	// ErrRunning is the answer of Run and RunUntilIdle to a second caller, and to a callback.
	ErrRunning = errors.New("loop: Run while the loop is running")
)

// Options configure a loop. The zero value is a good default.
type Options struct {
	// Clock is where the time comes from. nil: from the system.
	Clock Clock

	// AfterCall is called after every callback: for a script host, the place to run
	// microtasks. It also follows a callback that panicked: after OnPanic, or without one
	// first thing when the loop goes on.
	AfterCall func()

	// OnPanic is given what a callback, or AfterCall, panicked with, and a stack that shows
	// where; then the loop goes on. For panic(nil), v is a *runtime.PanicNilError, with
	// GODEBUG=panicnil=1 too. If OnPanic is nil, the panic reaches the caller of Run or Step.
	OnPanic func(v any, stack []byte)

	// SlowCallback makes callbacks that take longer be logged, with their names (see
	// [Handle.SetName]). 0 means none are.
	SlowCallback time.Duration

	// Logger gets slow callbacks, and on Linux a failure of the timerfd that Run waits on: one
	// record until a timerfd works again. If it is nil, slow callbacks are logged to
	// slog.Default(), and failures are not logged.
	Logger *slog.Logger
}

// A Call is a callback and its delay, for [Loop.CallLaterBatch].
type Call struct {
	After time.Duration
	Func  func()
}

// A Loop runs callbacks, one after the other, on the goroutine that calls [Loop.Run],
// [Loop.RunUntilIdle] or [Loop.Step]: the loop's goroutine. It may be another each time.
//
// Post, PostBatch, Stop, Close, Hold and the release of a hold may be called from any
// goroutine. All else, the methods of handles included, belongs to the loop's goroutine, or
// to whoever prepares the loop before it runs; the race detector tells where it does not.
type Loop struct {
	// core is what belongs to the loop's goroutine. Close, from any goroutine, takes it away
	// and thereby lets go of all callbacks: no lock, and whoever is at work with it finishes
	// on what nobody will look at any more.
	state   atomic.Pointer[state]
	running atomic.Bool // somebody is in Run. Set by compare-and-swap, cleared by the same goroutine
	holds   atomic.Int64

	_       [64]byte // the inbox is written by others all the time, signals and core mostly read
	signals signals
	_       [64]byte
	inbox   inbox
	_       [64]byte
	waker   waker
}

// A core is the part of a loop that only its goroutine touches.
type state struct {
	now        time.Duration // the Time of the iteration; outside of one, the latest that was read
	start      time.Time     // zero of the system's clock
	virtual    bool
	bubble     bool
	iterating  bool // an iteration has begun and is not finished: a panic may have cut it short
	inCallback bool // a callback is being run

	queue  queue
	timers *wheel.Wheel[func()]
	due    dueList

	afterCall     func()
	afterCallOwed bool // a callback was begun that AfterCall has not followed yet
	onPanic       func(v any, stack []byte)
	slowCallback  time.Duration     // 0: nobody wants to know
	logger        *slog.Logger      // nil: the user gave none
	names         map[callID]string // of pending handles that were given one; nil: none was
	plainCalls    bool              // a callback is called, and nothing else: none of the above

	lastPosts   int  // how many the last iteration had that had any
	gathersLeft int  // how often to wait for more of them; see gather
	mayLinger   bool // there were posts since the loop last lingered
}

// New returns a loop. It needs no Close if it is merely dropped: it has no goroutine, and
// a descriptor only while Run waits.
func New(o Options) *Loop {
	s := &state{
		start:        time.Now(),
		afterCall:    o.AfterCall,
		onPanic:      o.OnPanic,
		slowCallback: max(o.SlowCallback, 0),
		logger:       o.Logger,
	}
	s.bubble = inBubble(s.start)
	if v, ok := o.Clock.(virtualClock); ok {
		s.virtual = true
		s.now = v.start
	}
	s.timers = wheel.New[func()](tickOf(s.now), 0)
	s.queue.base = 1
	s.updatePlainCalls()
	l := &Loop{waker: waker{wakeCh: make(chan struct{}, 1)}}
	l.state.Store(s)
	return l
}

// settle notes whether there is more to a call than to call.
func (s *state) updatePlainCalls() {
	s.plainCalls = s.afterCall == nil && s.slowCallback == 0 && s.names == nil
}

// clock reads the time.
func (s *state) readClock() time.Duration {
	if s.virtual {
		return s.now
	}
	return time.Since(s.start)
}

// Time returns the time of the loop's clock. Within an iteration it is always the same,
// that of its beginning. Outside of one it is read from the clock.
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

// Stop makes Run return when it has finished its iteration. If the loop does not run, the
// next Run returns after one iteration. Nothing is lost, and Run may be called again.
func (l *Loop) Stop() { l.signal(sigStopped) }

// Close lets go of all callbacks, and makes Run return ErrClosed. A callback that is running
// is not waited for, and no other is begun. On a closed loop Call functions do nothing and
// return the zero Handle. Close may be called again. The error is always nil.
func (l *Loop) Close() error {
	l.inbox.close()
	l.state.Store(nil)
	l.signal(sigClosed)
	return nil
}

// Hold keeps RunUntilIdle waiting, and a virtual clock from jumping, until release is
// called: for work in flight elsewhere that will Post its result. Post first, then release.
// Hold and release may be called from any goroutine, release more than once.
func (l *Loop) Hold() (release func()) {
	l.holds.Add(1)
	var released atomic.Bool
	return func() {
		if released.CompareAndSwap(false, true) && l.holds.Add(-1) == 0 {
			l.signal(sigRecheck)
		}
	}
}

// signal sets a signal and wakes the loop if it sleeps.
func (l *Loop) signal(sig signalBits) {
	if wake := l.signals.set(sig); wake != 0 {
		l.waker.wake(wake)
	}
}
