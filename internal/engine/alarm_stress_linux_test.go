package engine

import (
	"context"
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
)

// An eventLog counts the events about timerfds.
type eventLog struct {
	slog.Handler
	failed atomic.Int64
	works  atomic.Int64
}

func newEventLog() *eventLog { return &eventLog{Handler: slog.DiscardHandler} }

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

// wantOne waits for the failure, which is logged by a goroutine of its own, and checks that there is just one.
func (e *eventLog) wantOne(t *testing.T) {
	t.Helper()
	soon(t, "a failure is logged", func() bool { return e.failed.Load() > 0 })
	if got := e.failed.Load(); got != 1 {
		t.Errorf("%d failures were logged, want 1", got)
	}
}

func newWithLog(t *testing.T, o Config) (*Engine, *eventLog) {
	t.Helper()
	log := newEventLog()
	o.Logger = slog.New(log)
	eng, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return eng, log
}

// fires arms timers of all kinds of delays, one after the other and several at once, and waits until each has run.
func fires(t *testing.T, eng *Engine, goroutines, n int) {
	t.Helper()
	var wg, ran sync.WaitGroup
	var runs atomic.Int64
	for range goroutines {
		wg.Go(func() {
			for range n {
				d := rand.N(3 * time.Millisecond)
				if rand.IntN(10) == 0 {
					d += 49 * time.Millisecond
				}
				ran.Add(1)
				due := time.Now().Add(d)
				if _, err := eng.AfterFunc(d, func() {
					if early := time.Until(due); early > 0 {
						t.Errorf("a timer fired %v early", early)
					}
					runs.Add(1)
					ran.Done()
				}, false); err != nil {
					t.Errorf("AfterFunc: %v", err)
				}
				time.Sleep(rand.N(2 * time.Millisecond))
			}
		})
	}
	wg.Wait()
	done := make(chan struct{})
	go func() {
		ran.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%d of %d timers have run: %v", runs.Load(), goroutines*n, eng)
	}
}

// closeNow shuts a runtime down, which has nothing to wait for.
func closeNow(t *testing.T, eng *Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if _, err := eng.Shutdown(ctx, func() int { return 0 }); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// faults are the ways in which a timerfd can fail. Each is applied with the lock held.
var faults = map[string]func(a *alarm.Alarm){
	"it cannot be set":     func(a *alarm.Alarm) { a.FD = 1<<31 - 1 },
	"it cannot be read":    func(a *alarm.Alarm) { a.File.SetReadDeadline(time.Unix(1, 0)) },
	"it is closed":         func(a *alarm.Alarm) { a.File.Close() },
	"it is something else": func(a *alarm.Alarm) { a.FD = 1 },
}

func TestATimerfdThatFailsIsDoneWithoutAndNothingIsLost(t *testing.T) {
	for name, fail := range faults {
		for _, when := range []string{"parked", "near", "under load"} {
			t.Run(name+", "+when, func(t *testing.T) {
				eng, log := newWithLog(t, Config{Workers: 2})
				defer closeNow(t, eng)
				var loading sync.WaitGroup
				openerOf(eng).try(t, eng)
				var last atomic.Bool
				switch when {
				case "near":
					if _, err := eng.AfterFunc(30*time.Millisecond, func() { last.Store(true) }, false); err != nil {
						t.Fatal(err)
					}
				case "under load":
					loading.Go(func() { fires(t, eng, 4, 30) })
				}
				time.Sleep(rand.N(4 * time.Millisecond))
				eng.timekeeper.mu.Lock()
				broken := eng.timekeeper.alarm
				if broken == nil {
					t.Error("there is no timerfd")
				} else {
					fail(broken)
				}
				eng.timekeeper.mu.Unlock()
				fires(t, eng, 2, 10)
				loading.Wait()
				if when == "near" {
					for end := time.Now().Add(20 * time.Second); !last.Load(); time.Sleep(time.Millisecond) {
						if time.Now().After(end) {
							t.Fatal("the timer that was waited for when the timerfd failed has not run")
						}
					}
				}
				log.wantOne(t)
				eng.timekeeper.mu.Lock()
				defer eng.timekeeper.mu.Unlock()
				if broken != nil && eng.timekeeper.alarm == broken {
					t.Error("the timerfd is still in use")
				}
			})
		}
	}
}

// Shutdown comes at the moment when the timerfd has failed and the timekeeper has not yet seen to it.
func TestShutdownWhileATimerfdFails(t *testing.T) {
	end := time.Now().Add(300 * time.Millisecond)
	for time.Now().Before(end) && !t.Failed() {
		eng, log := newWithLog(t, Config{Workers: 1})
		if _, err := eng.AfterFunc(20*time.Millisecond, func() {}, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(200 * time.Microsecond))
		var wg sync.WaitGroup
		wg.Go(func() {
			eng.timekeeper.mu.Lock()
			defer eng.timekeeper.mu.Unlock()
			if eng.timekeeper.alarm != nil {
				eng.timekeeper.alarm.File.Close()
			}
		})
		for deadline := time.Now().Add(rand.N(50 * time.Microsecond)); time.Now().Before(deadline); {
		}
		closeNow(t, eng)
		wg.Wait()
		if got := log.failed.Load(); got > 1 || log.works.Load() > 0 {
			t.Errorf("%d failures were logged, want at most 1; %d times it works again, want 0", got, log.works.Load())
		}
	}
}

// The timekeeper has given up a timerfd that could not be read, and not yet gone on to its next turn.
func TestShutdownRightAfterATimerfdWasGivenUp(t *testing.T) {
	eng, log := newWithLog(t, Config{Workers: 1})
	k := &eng.timekeeper
	a, err := k.newAlarm()
	if err != nil {
		t.Skip(err)
	}
	k.mu.Lock()
	k.mode = modeNear
	k.alarm = a
	a.File.Close()
	k.mu.Unlock()
	k.waitForAlarm(a)
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("Shutdown panics: %v", v)
		}
	}()
	closeNow(t, eng)
	log.wantOne(t)
}

// openFiles counts the file descriptors of the process.
func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(all)
}

func TestNoFileDescriptorIsLeftBehind(t *testing.T) {
	before := openFiles(t)
	for i := range 20 {
		eng, _ := newWithLog(t, Config{Workers: 2})
		if i%2 == 0 {
			fires(t, eng, 1, 3)
		}
		if i%4 == 0 {
			eng.timekeeper.mu.Lock()
			if eng.timekeeper.alarm != nil {
				eng.timekeeper.alarm.FD = 1<<31 - 1
			}
			eng.timekeeper.mu.Unlock()
			fires(t, eng, 1, 2)
		}
		closeNow(t, eng)
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d file descriptors are open, %d before", after, before)
	}
}

// withoutFiles runs f while the process can open no more files.
func withoutFiles(t *testing.T, f func()) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Skip(err)
	}
	// Descriptors are numbered from the lowest that is free: the limit is the number of the next.
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

func TestWithoutATimerfdToBeHadTimersFireAllTheSame(t *testing.T) {
	eng, log := newWithLog(t, Config{Workers: 2})
	defer closeNow(t, eng)
	withoutFiles(t, func() {
		fires(t, eng, 4, 20)
		eng.timekeeper.mu.Lock()
		defer eng.timekeeper.mu.Unlock()
		if eng.timekeeper.alarm != nil {
			t.Skip("there was a timerfd to be had")
		}
	})
	log.wantOne(t)
}

// disturb does something to the timerfd of a runtime, or makes it believe that a second has passed.
func disturb(eng *Engine, o *opener) {
	k := &eng.timekeeper
	k.mu.Lock()
	defer k.mu.Unlock()
	switch rand.IntN(8) {
	case 0:
		o.fault(syscall.EMFILE, nil)
	case 1, 2:
		o.fault(nil, nil)
	case 3:
		if k.alarm != nil {
			for _, fail := range faults {
				fail(k.alarm)
				break
			}
		}
	case 4, 5:
		k.alarmRetryAt = 0
	default:
		k.alarmUsed -= alarmIdle
	}
}

// Timerfds fail, are opened again and closed in any order, and the runtime is shut down at any time.
func TestTimersFireWhateverBecomesOfTheTimerfd(t *testing.T) {
	span := 500 * time.Millisecond
	if text := os.Getenv("FOLIOT_STRESS"); text != "" {
		var err error
		if span, err = time.ParseDuration(text); err != nil {
			t.Fatalf("FOLIOT_STRESS: %v", err)
		}
	}
	opened, tried, failed, works := 0, 0, int64(0), int64(0)
	for end := time.Now().Add(span); time.Now().Before(end) && !t.Failed(); {
		eng, log := newWithLog(t, Config{Workers: 1 + rand.IntN(3), Precise: rand.IntN(4) == 0})
		o := openerOf(eng)
		fireIn(t, eng, time.Hour)
		stop := make(chan struct{})
		var disturber sync.WaitGroup
		disturber.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					disturb(eng, o)
					time.Sleep(rand.N(time.Millisecond))
				}
			}
		})
		fires(t, eng, 1+rand.IntN(3), 10+rand.IntN(30))
		if rand.IntN(2) == 0 {
			fireIn(t, eng, rand.N(5*time.Millisecond))
			time.Sleep(rand.N(time.Millisecond))
		}
		closeNow(t, eng)
		close(stop)
		disturber.Wait()
		if n := o.left(); n != 0 {
			t.Errorf("%d of %d timerfds are open after Shutdown", n, o.count())
		}
		opened += o.count()
		tried += o.tried()
		failed += log.failed.Load()
		works += log.works.Load()
	}
	t.Logf("%d of %d timerfds were opened; %d failures and %d recoveries were logged", opened, tried, failed, works)
}
