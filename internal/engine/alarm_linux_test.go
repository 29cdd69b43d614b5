package engine

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

func TestATimerfdIsOpenedWhenADeadlineIsNear(t *testing.T) {
	eng, o := newWithOpener(t, Config{})
	fireAfter(t, eng, time.Hour)
	fireAfter(t, eng, time.Minute)
	if n := o.count(); n != 0 {
		t.Errorf("%d timerfds were opened for far deadlines, want none", n)
	}
	o.try(t, eng)
	if n := o.count(); n != 1 {
		t.Errorf("%d timerfds were opened for a near deadline, want 1", n)
	}
}

// On a busy machine, the standard timer may start the driver too late for that.
func TestATimerfdIsOpenedShortlyBeforeAFarDeadline(t *testing.T) {
	eng, o := newWithOpener(t, Config{})
	for range 50 {
		<-fireAfter(t, eng, 60*time.Millisecond)
		if o.count() > 0 {
			return
		}
	}
	t.Error("no timerfd was opened for 50 timers")
}

func TestATimerfdIsClosedWhileNoDeadlineIsNear(t *testing.T) {
	testkit.SkipIfShort(t)
	for name, use := range map[string]func(t *testing.T, eng *Engine, o *opener){
		"the far timer is armed first": func(t *testing.T, eng *Engine, o *opener) {
			fireAfter(t, eng, time.Hour)
			o.try(t, eng)
		},
		"the far timer is armed last": func(t *testing.T, eng *Engine, o *opener) {
			o.try(t, eng)
			fireAfter(t, eng, time.Hour)
		},
		"the far timer is armed after a pause": func(t *testing.T, eng *Engine, o *opener) {
			o.try(t, eng)
			time.Sleep(time.Duration(alarmIdle) + 10*time.Millisecond)
			fireAfter(t, eng, time.Hour)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng, o := newWithOpener(t, Config{})
			for round := 1; round <= 2; round++ {
				use(t, eng, o)
				if n := o.count(); n != round {
					t.Errorf("%d timerfds were opened, want %d", n, round)
				}
				testkit.Eventually(t, "the timerfd is closed", func() bool { return o.left() == 0 })
				waitForMode(t, eng, modeFar)
			}
		})
	}
}

// The driver wakes once to close the timerfd, and not again.
func TestATimerfdIsClosedByOneWakeUp(t *testing.T) {
	testkit.SkipIfShort(t)
	eng, o := newWithOpener(t, Config{})
	fireAfter(t, eng, time.Hour)
	o.try(t, eng)
	waitForMode(t, eng, modeFar)
	before := eng.timekeeper.wakeups.Load()
	testkit.Eventually(t, "the timerfd is closed", func() bool { return o.left() == 0 })
	time.Sleep(200 * time.Millisecond)
	if n := eng.timekeeper.wakeups.Load() - before; n != 1 {
		t.Errorf("%d wake-ups, want 1", n)
	}
}

func TestAParkedEngineKeepsItsTimerfdAndDoesNotWake(t *testing.T) {
	testkit.SkipIfShort(t)
	eng, o := newWithOpener(t, Config{})
	o.try(t, eng)
	waitForMode(t, eng, modeParked)
	before := eng.timekeeper.wakeups.Load()
	time.Sleep(time.Duration(alarmIdle) + 200*time.Millisecond)
	if n := eng.timekeeper.wakeups.Load() - before; n != 0 || o.left() != 1 {
		t.Errorf("%d wake-ups and %d open timerfds, want 0 and 1", n, o.left())
	}
}

// On a busy machine it may happen, once or twice, that no deadline is near for longer than
// alarmIdle. Then the timerfd is closed and opened again.
func TestTimersInARowShareATimerfd(t *testing.T) {
	testkit.SkipIfShort(t)
	const most = 3
	for name, row := range map[string]func(t *testing.T, eng *Engine){
		"a timer each millisecond": func(t *testing.T, eng *Engine) {
			var fired sync.WaitGroup
			fired.Add(1000)
			for i := range 1000 {
				if _, err := eng.AfterFunc(time.Duration(i)*time.Millisecond, fired.Done); err != nil {
					t.Fatal(err)
				}
			}
			fired.Wait()
		},
		"a timer that resets itself": func(t *testing.T, eng *Engine) {
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
			fireAfter(t, eng, time.Hour)
			for range 20 {
				if err := eng.Sleep(context.Background(), 100*time.Millisecond); err != nil {
					t.Fatal(err)
				}
			}
		},
		"short sleeps and far timers that are stopped": func(t *testing.T, eng *Engine) {
			for range 100 {
				timer, err := eng.AfterFunc(time.Hour, func() {})
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
			if n := o.count(); n < 1 || n > most {
				t.Errorf("%d timerfds were opened, want 1 to %d", n, most)
			}
		})
	}
}

// Shutdown is called while the driver is about to open the timerfd, opens it, or waits for it.
func TestShutdownClosesATimerfdThatIsBeingOpened(t *testing.T) {
	testkit.SkipIfShort(t)
	opened := 0
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end) && !t.Failed(); {
		eng, err := New(Config{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		o := openerOf(eng)
		if _, err := eng.AfterFunc(20*time.Millisecond, func() {}); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(rand.N(100 * time.Microsecond)); time.Now().Before(end); {
		}
		closeNow(t, eng)
		opened += o.count()
		if n := o.left(); n != 0 {
			t.Errorf("%d of %d timerfds are open after Shutdown, want none", n, o.count())
		}
	}
	t.Logf("%d timerfds were opened", opened)
}

func TestSomeEnginesUseNoTimerfd(t *testing.T) {
	check := func(name string, eng *Engine, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if eng.timekeeper.newAlarm != nil {
			t.Errorf("%s: the engine may open timerfds, want none", name)
		}
	}
	check("the default engine", shared.standby, nil)
	eng, err := New(Config{Manual: NewManualClock(time.Unix(0, 0))})
	check("on a manual clock", eng, err)
	synctest.Test(t, func(t *testing.T) {
		eng, err := New(Config{})
		check("in a bubble", eng, err)
	})
}
