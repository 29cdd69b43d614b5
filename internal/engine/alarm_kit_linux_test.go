package engine

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/alarm"
	"github.com/foliot-go/foliot/internal/testkit"
)

// An opener opens the timerfds of an engine and counts them. It can be made to fail.
type opener struct {
	mu     sync.Mutex
	opened []*alarm.Alarm
	tries  []time.Time
	err    error                // returned by open instead of a timerfd
	spoil  func(a *alarm.Alarm) // called for each new timerfd
}

// openerOf makes an engine open its timerfds with a new opener.
func openerOf(eng *Engine) *opener {
	o := new(opener)
	eng.timekeeper.mu.Lock()
	defer eng.timekeeper.mu.Unlock()
	eng.timekeeper.newAlarm = o.open
	return o
}

func (o *opener) open() (*alarm.Alarm, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tries = append(o.tries, time.Now())
	if o.err != nil {
		return nil, o.err
	}
	a, err := alarm.New()
	if err == nil {
		o.opened = append(o.opened, a)
		if o.spoil != nil {
			o.spoil(a)
		}
	}
	return a, err
}

// setFault makes open return an error from now on, or timerfds that do not work. With nil and nil
// it works again.
func (o *opener) setFault(err error, spoil func(a *alarm.Alarm)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err, o.spoil = err, spoil
}

// checkPauses checks that at least alarmRetry has passed between two calls of open. The engine
// reads the clock a little earlier than open does.
func (o *opener) checkPauses(t *testing.T) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	want := time.Duration(alarmRetry)
	for i, try := range o.tries[1:] {
		if d := try.Sub(o.tries[i]); d < want*9/10 {
			t.Errorf("call %d of open came %v after the one before, want %v", i+2, d, want)
		}
	}
}

// count returns how many timerfds were opened.
func (o *opener) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.opened)
}

// tried returns how often open was called.
func (o *opener) tried() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.tries)
}

// left returns how many timerfds are open.
func (o *opener) left() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, a := range o.opened {
		if _, err := a.File.Stat(); !errors.Is(err, os.ErrClosed) {
			n++
		}
	}
	return n
}

// try fires timers until the engine has called open. One timer may not be enough: on a busy
// machine its deadline may have passed before the driver looks.
func (o *opener) try(t *testing.T, eng *Engine) {
	t.Helper()
	before := o.tried()
	for range 50 {
		<-fireAfter(t, eng, 20*time.Millisecond)
		if o.tried() > before {
			return
		}
	}
	t.Fatal("no timerfd was opened for 50 timers")
}

// newWithOpener makes an engine with an opener. It is shut down when the test ends.
func newWithOpener(t *testing.T, c Config) (*Engine, *opener) {
	t.Helper()
	eng, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeNow(t, eng) })
	return eng, openerOf(eng)
}

// An eventLog counts the log messages about timerfds.
type eventLog struct {
	slog.Handler
	failed atomic.Int64
	works  atomic.Int64
}

// newWithLog makes an engine with an eventLog. The caller shuts it down.
func newWithLog(t *testing.T, c Config) (*Engine, *eventLog) {
	t.Helper()
	log := &eventLog{Handler: slog.DiscardHandler}
	c.Logger = slog.New(log)
	eng, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return eng, log
}

func (e *eventLog) Enabled(context.Context, slog.Level) bool { return true }

func (e *eventLog) Handle(_ context.Context, r slog.Record) error {
	switch {
	case strings.Contains(r.Message, "timerfd has failed"):
		e.failed.Add(1)
	case strings.Contains(r.Message, "timerfd works again"):
		e.works.Add(1)
	}
	return nil
}

// wantOneFailure waits until a failure is logged, and checks that there is only one. Another
// goroutine logs it.
func (e *eventLog) wantOneFailure(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "a failure is logged", func() bool { return e.failed.Load() > 0 })
	if got := e.failed.Load(); got != 1 {
		t.Errorf("%d failures were logged, want 1", got)
	}
}

// timerfdFaults are the ways in which a timerfd can fail. Each is called with timekeeper.mu held.
var timerfdFaults = map[string]func(a *alarm.Alarm){
	"it cannot be set":  func(a *alarm.Alarm) { a.FD = 1<<31 - 1 },
	"it cannot be read": func(a *alarm.Alarm) { a.File.SetReadDeadline(time.Unix(1, 0)) },
	"it is closed":      func(a *alarm.Alarm) { a.File.Close() },
	"it is no timerfd":  func(a *alarm.Alarm) { a.FD = 1 },
}

// closeNow shuts an engine down.
func closeNow(t *testing.T, eng *Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Timeout)
	defer cancel()
	if _, err := eng.Shutdown(ctx, func() int { return 0 }); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// fireAfter arms a timer and returns a channel that is closed when it fires.
func fireAfter(t *testing.T, eng *Engine, d time.Duration) <-chan struct{} {
	t.Helper()
	fired := make(chan struct{})
	if _, err := eng.AfterFunc(d, func() { close(fired) }); err != nil {
		t.Fatal(err)
	}
	return fired
}

// fireMany arms n timers with different delays on each of several goroutines, and waits until all
// of them have fired. None may fire early.
func fireMany(t *testing.T, eng *Engine, goroutines, n int) {
	t.Helper()
	var arming, firing sync.WaitGroup
	var fired atomic.Int64
	for range goroutines {
		arming.Go(func() {
			for range n {
				d := rand.N(3 * time.Millisecond)
				if rand.IntN(10) == 0 {
					d += 49 * time.Millisecond
				}
				firing.Add(1)
				due := time.Now().Add(d)
				if _, err := eng.AfterFunc(d, func() {
					if early := time.Until(due); early > 0 {
						t.Errorf("a timer fired %v early", early)
					}
					fired.Add(1)
					firing.Done()
				}); err != nil {
					t.Errorf("AfterFunc: %v", err)
				}
				time.Sleep(rand.N(2 * time.Millisecond))
			}
		})
	}
	arming.Wait()
	done := make(chan struct{})
	go func() {
		firing.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(testkit.Timeout):
		t.Fatalf("%d timers have fired, want %d: %v", fired.Load(), goroutines*n, eng)
	}
}

// sleepUntil sleeps until ok returns true. Each of its sleeps is a near deadline.
func sleepUntil(t *testing.T, eng *Engine, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(testkit.Timeout); !ok(); {
		if err := eng.Sleep(context.Background(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatalf("%s: not true after %v", what, testkit.Timeout)
		}
	}
}

// waitForMode waits until the timekeeper is in a mode.
func waitForMode(t *testing.T, eng *Engine, m mode) {
	t.Helper()
	testkit.Eventually(t, "the timekeeper has the mode", func() bool {
		eng.timekeeper.mu.Lock()
		defer eng.timekeeper.mu.Unlock()
		return eng.timekeeper.mode == m
	})
}

// withoutFiles calls f while the process cannot open files.
func withoutFiles(t *testing.T, f func()) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Skip(err)
	}
	// A new descriptor gets the lowest free number. With that number as the limit, there is none.
	next, err := syscall.Dup(0)
	if err != nil {
		t.Skip(err)
	}
	syscall.Close(next)
	lower := limit
	lower.Cur = uint64(next)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lower); err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	}()
	f()
}
