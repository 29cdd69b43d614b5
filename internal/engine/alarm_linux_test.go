package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/internal/alarm"
)

// An opener opens the timerfds of a runtime, counts them, and fails on demand.
type opener struct {
	mu     sync.Mutex
	opened []*alarm.Alarm
	tries  []time.Time
	err    error                // what open returns instead of a timerfd
	spoil  func(a *alarm.Alarm) // what is done to each
}

// openerOf replaces what a runtime opens timerfds with.
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

// fault makes open fail from now on, or return timerfds that do not work, or neither.
func (o *opener) fault(err error, spoil func(a *alarm.Alarm)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err, o.spoil = err, spoil
}

// wantPauses checks that no two tries came within alarmRetry. The runtime has read the clock a little before each.
func (o *opener) wantPauses(t *testing.T) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, try := range o.tries[1:] {
		if d := try.Sub(o.tries[i]); d < time.Duration(alarmRetry*9/10) {
			t.Errorf("try %d came %v after the one before", i+2, d)
		}
	}
}

// count returns how many timerfds have been opened.
func (o *opener) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.opened)
}

// tried returns how often one was to be opened.
func (o *opener) tried() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.tries)
}

// left returns how many of them are open.
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

// soon waits until ok returns true.
func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not so after 20 seconds", what)
		}
	}
}

// reaches waits until the timekeeper is in a mode.
func reaches(t *testing.T, eng *Engine, m mode) {
	t.Helper()
	soon(t, "the mode", func() bool {
		eng.timekeeper.mu.Lock()
		defer eng.timekeeper.mu.Unlock()
		return eng.timekeeper.mode == m
	})
}

func newWithOpener(t *testing.T, o Config) (*Engine, *opener) {
	t.Helper()
	eng, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeNow(t, eng) })
	return eng, openerOf(eng)
}

// fireIn arms a timer and returns a channel that is closed when it fires.
func fireIn(t *testing.T, eng *Engine, d time.Duration) <-chan struct{} {
	t.Helper()
	fired := make(chan struct{})
	if _, err := eng.AfterFunc(d, func() { close(fired) }, false); err != nil {
		t.Fatal(err)
	}
	return fired
}

// try fires timers until the runtime has tried to open a timerfd. On a busy machine a deadline may have come before the
// pump has looked.
func (o *opener) try(t *testing.T, eng *Engine) {
	t.Helper()
	before := o.tried()
	for range 50 {
		<-fireIn(t, eng, 20*time.Millisecond)
		if o.tried() > before {
			return
		}
	}
	t.Fatal("no timerfd is opened for 50 timers")
}

func TestATimerfdIsOpenedWhenADeadlineIsNear(t *testing.T) {
	eng, o := newWithOpener(t, Config{})
	fireIn(t, eng, time.Hour)
	fireIn(t, eng, time.Minute)
	if n := o.count(); n != 0 {
		t.Errorf("%d timerfds are opened for far deadlines", n)
	}
	o.try(t, eng)
	if n := o.count(); n != 1 {
		t.Errorf("%d timerfds are opened for a near deadline, want 1", n)
	}
}

// On a busy machine the standard timer may wake the pump too late for that.
func TestATimerfdIsOpenedShortlyBeforeAFarDeadline(t *testing.T) {
	eng, o := newWithOpener(t, Config{})
	for range 50 {
		<-fireIn(t, eng, 60*time.Millisecond)
		if o.count() > 0 {
			return
		}
	}
	t.Error("no timerfd is opened in 50 attempts")
}

func TestATimerfdIsClosedWhileNoDeadlineIsNear(t *testing.T) {
	for name, use := range map[string]func(t *testing.T, eng *Engine, o *opener){
		"the far timer was first": func(t *testing.T, eng *Engine, o *opener) {
			fireIn(t, eng, time.Hour)
			o.try(t, eng)
		},
		"the far timer comes last": func(t *testing.T, eng *Engine, o *opener) {
			o.try(t, eng)
			fireIn(t, eng, time.Hour)
		},
		"the far timer comes after a pause": func(t *testing.T, eng *Engine, o *opener) {
			o.try(t, eng)
			time.Sleep(time.Duration(alarmIdle) + 10*time.Millisecond)
			fireIn(t, eng, time.Hour)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng, o := newWithOpener(t, Config{})
			for round := 1; round <= 2; round++ {
				use(t, eng, o)
				if n := o.count(); n != round {
					t.Errorf("%d timerfds are opened, want %d", n, round)
				}
				soon(t, "the timerfd is closed", func() bool { return o.left() == 0 })
				reaches(t, eng, modeFar)
			}
		})
	}
}

// The pump wakes once to close the timerfd, and then no more.
func TestATimerfdIsClosedByOneWakeUp(t *testing.T) {
	eng, o := newWithOpener(t, Config{})
	fireIn(t, eng, time.Hour)
	o.try(t, eng)
	reaches(t, eng, modeFar)
	before := eng.timekeeper.wakeups.Load()
	soon(t, "the timerfd is closed", func() bool { return o.left() == 0 })
	time.Sleep(200 * time.Millisecond)
	if n := eng.timekeeper.wakeups.Load() - before; n != 1 {
		t.Errorf("%d wake-ups, want 1", n)
	}
}

func TestAParkedRuntimeKeepsItsTimerfdAndDoesNotWake(t *testing.T) {
	eng, o := newWithOpener(t, Config{})
	o.try(t, eng)
	reaches(t, eng, modeParked)
	before := eng.timekeeper.wakeups.Load()
	time.Sleep(time.Duration(alarmIdle) + 200*time.Millisecond)
	if n := eng.timekeeper.wakeups.Load() - before; n != 0 || o.left() != 1 {
		t.Errorf("%d wake-ups, %d timerfds, want 0 and 1", n, o.left())
	}
}

// A busy machine may keep the timers from being near for longer than alarmIdle, once or twice.
func TestTimersInARowShareATimerfd(t *testing.T) {
	const few = 3
	for name, row := range map[string]func(t *testing.T, eng *Engine){
		"1,000 at once, 1 ms apart": func(t *testing.T, eng *Engine) {
			var fired sync.WaitGroup
			fired.Add(1000)
			for i := range 1000 {
				if _, err := eng.AfterFunc(time.Duration(i)*time.Millisecond, fired.Done, false); err != nil {
					t.Fatal(err)
				}
			}
			fired.Wait()
		},
		"each armed by the one before": func(t *testing.T, eng *Engine) {
			n, done := 0, make(chan struct{})
			var timer Timer
			timer, err := eng.NewTimer(func() {
				if n++; n == 20 {
					close(done)
					return
				}
				timer.Reset(100 * time.Millisecond)
			})
			if err != nil {
				t.Fatal(err)
			}
			timer.Reset(100 * time.Millisecond)
			<-done
		},
		"sleeps": func(t *testing.T, eng *Engine) {
			for range 20 {
				if err := eng.Sleep(context.Background(), 100*time.Millisecond); err != nil {
					t.Fatal(err)
				}
			}
		},
		"sleeps while a far timer is armed": func(t *testing.T, eng *Engine) {
			fireIn(t, eng, time.Hour)
			for range 20 {
				if err := eng.Sleep(context.Background(), 100*time.Millisecond); err != nil {
					t.Fatal(err)
				}
			}
		},
		"short sleeps and far timers that are stopped": func(t *testing.T, eng *Engine) {
			for range 100 {
				timer, err := eng.AfterFunc(time.Hour, func() {}, false)
				if err != nil {
					t.Fatal(err)
				}
				if err := eng.Sleep(context.Background(), time.Millisecond); err != nil {
					t.Fatal(err)
				}
				timer.Stop()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng, o := newWithOpener(t, Config{})
			row(t, eng)
			if n := o.count(); n < 1 || n > few {
				t.Errorf("%d timerfds were opened, want 1", n)
			}
		})
	}
}

// Shutdown comes while the pump is about to open the timerfd, opens it, or waits with it.
func TestShutdownClosesATimerfdThatIsBeingOpened(t *testing.T) {
	opened := 0
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end) && !t.Failed(); {
		eng, err := New(Config{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		o := openerOf(eng)
		if _, err := eng.AfterFunc(20*time.Millisecond, func() {}, false); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(rand.N(100 * time.Microsecond)); time.Now().Before(end); {
		}
		closeNow(t, eng)
		opened += o.count()
		if n := o.left(); n != 0 {
			t.Errorf("%d of %d timerfds are open after Shutdown", n, o.count())
		}
	}
	t.Logf("%d timerfds", opened)
}

func TestSomeRuntimesUseNoTimerfd(t *testing.T) {
	check := func(name string, eng *Engine, err error) {
		t.Helper()
		if err != nil || eng.timekeeper.newAlarm != nil {
			t.Errorf("%s: it may open timerfds, or there is none: %v", name, err)
		}
	}
	check("the default runtime", shared.standby, nil)
	eng, err := New(Config{Clock: NewManualClock(time.Unix(0, 0))})
	check("on a manual clock", eng, err)
	synctest.Test(t, func(t *testing.T) {
		eng, err := New(Config{})
		check("in a bubble", eng, err)
	})
}

// nap sleeps until ok returns true. Each of its sleeps is a near deadline.
func nap(t *testing.T, eng *Engine, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); {
		if err := eng.Sleep(context.Background(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatalf("%s: not so after 20 seconds", what)
		}
	}
}

func TestATimerfdThatFailsIsReplacedAfterASecond(t *testing.T) {
	for name, fault := range map[string]struct {
		err   error
		spoil func(a *alarm.Alarm)
	}{
		"it cannot be opened": {err: syscall.EMFILE},
		"it cannot be set":    {spoil: faults["it cannot be set"]},
		"it cannot be read":   {spoil: faults["it cannot be read"]},
		"it is closed":        {spoil: faults["it is closed"]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng, log := newWithLog(t, Config{Workers: 1})
			defer closeNow(t, eng)
			o := openerOf(eng)
			o.fault(fault.err, fault.spoil)
			nap(t, eng, "it was tried twice", func() bool { return o.tried() == 2 })
			log.wantOne(t)
			o.fault(nil, nil)
			nap(t, eng, "it is logged that the timerfd works again", func() bool { return log.works.Load() == 1 })
			log.wantOne(t)
			o.wantPauses(t)
			if n := o.left(); n != 1 {
				t.Errorf("%d timerfds are open, want 1", n)
			}
			eng.timekeeper.mu.Lock()
			if eng.timekeeper.alarm == nil {
				t.Error("there is no timerfd")
			} else {
				faults["it cannot be set"](eng.timekeeper.alarm)
			}
			eng.timekeeper.mu.Unlock()
			nap(t, eng, "the next failure is logged", func() bool { return log.failed.Load() == 2 })
		})
	}
}

func TestNoTimerfdIsOpenedAgainWhileNoDeadlineIsNear(t *testing.T) {
	eng, o := newWithOpener(t, Config{})
	o.fault(syscall.EMFILE, nil)
	fireIn(t, eng, time.Hour)
	o.try(t, eng)
	reaches(t, eng, modeFar)
	before := eng.timekeeper.wakeups.Load()
	time.Sleep(time.Duration(alarmRetry) + 200*time.Millisecond)
	if n := eng.timekeeper.wakeups.Load() - before; n != 0 || o.tried() != 1 {
		t.Errorf("%d wake-ups, %d tries, want 0 and 1", n, o.tried())
	}
}

// A process that is out of file descriptors for a while.
func TestTimersAreExactAgainWhenThereAreFileDescriptors(t *testing.T) {
	eng, log := newWithLog(t, Config{})
	defer closeNow(t, eng)
	withoutFiles(t, func() {
		nap(t, eng, "a failure is logged", func() bool { return log.failed.Load() == 1 })
	})
	nap(t, eng, "it is logged that the timerfd works again", func() bool { return log.works.Load() == 1 })
	log.wantOne(t)
}
