package engine

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/alarm"
	"github.com/foliot-go/foliot/internal/testkit"
)

func TestATimerfdThatFailsIsReplacedAfterASecond(t *testing.T) {
	testkit.SkipIfShort(t)
	for name, fault := range map[string]struct {
		err   error
		spoil func(a *alarm.Alarm)
	}{
		"it cannot be opened": {err: syscall.EMFILE},
		"it cannot be set":    {spoil: timerfdFaults["it cannot be set"]},
		"it cannot be read":   {spoil: timerfdFaults["it cannot be read"]},
		"it is closed":        {spoil: timerfdFaults["it is closed"]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng, log := newWithLog(t, Config{Workers: 1})
			defer closeNow(t, eng)
			o := openerOf(eng)
			o.setFault(fault.err, fault.spoil)
			sleepUntil(t, eng, "open was called twice", func() bool { return o.tried() == 2 })
			log.wantOneFailure(t)
			o.setFault(nil, nil)
			sleepUntil(t, eng, "a recovery is logged", func() bool { return log.works.Load() == 1 })
			log.wantOneFailure(t)
			o.checkPauses(t)
			if n := o.left(); n != 1 {
				t.Errorf("%d timerfds are open, want 1", n)
			}
			eng.timekeeper.mu.Lock()
			if eng.timekeeper.alarm == nil {
				t.Error("no timerfd is open")
			} else {
				timerfdFaults["it cannot be set"](eng.timekeeper.alarm)
			}
			eng.timekeeper.mu.Unlock()
			sleepUntil(t, eng, "the next failure is logged", func() bool { return log.failed.Load() == 2 })
		})
	}
}

func TestNoTimerfdIsOpenedAgainWhileNoDeadlineIsNear(t *testing.T) {
	testkit.SkipIfShort(t)
	eng, o := newWithOpener(t, Config{})
	o.setFault(syscall.EMFILE, nil)
	fireAfter(t, eng, time.Hour)
	o.try(t, eng)
	waitForMode(t, eng, modeFar)
	before := eng.timekeeper.wakeups.Load()
	time.Sleep(time.Duration(alarmRetry) + 200*time.Millisecond)
	if n := eng.timekeeper.wakeups.Load() - before; n != 0 || o.tried() != 1 {
		t.Errorf("%d wake-ups and %d calls of open, want 0 and 1", n, o.tried())
	}
}

// The process has no file descriptors for a while.
func TestTheTimerfdWorksAgainWhenThereAreFileDescriptors(t *testing.T) {
	testkit.SkipIfShort(t)
	eng, log := newWithLog(t, Config{})
	defer closeNow(t, eng)
	withoutFiles(t, func() {
		sleepUntil(t, eng, "a failure is logged", func() bool { return log.failed.Load() == 1 })
	})
	sleepUntil(t, eng, "a recovery is logged", func() bool { return log.works.Load() == 1 })
	log.wantOneFailure(t)
}

func TestNoTimerIsLostWhenATimerfdFails(t *testing.T) {
	testkit.SkipIfShort(t)
	for name, fail := range timerfdFaults {
		for _, when := range []string{"parked", "near", "under load"} {
			t.Run(name+", "+when, func(t *testing.T) {
				eng, log := newWithLog(t, Config{Workers: 2})
				defer closeNow(t, eng)
				var loading sync.WaitGroup
				openerOf(eng).try(t, eng)
				var last atomic.Bool
				switch when {
				case "near":
					if _, err := eng.AfterFunc(30*time.Millisecond, func() { last.Store(true) }); err != nil {
						t.Fatal(err)
					}
				case "under load":
					loading.Go(func() { fireMany(t, eng, 4, 30) })
				}
				time.Sleep(rand.N(4 * time.Millisecond))
				eng.timekeeper.mu.Lock()
				broken := eng.timekeeper.alarm
				if broken == nil {
					t.Error("no timerfd is open")
				} else {
					fail(broken)
				}
				eng.timekeeper.mu.Unlock()
				fireMany(t, eng, 2, 10)
				loading.Wait()
				if when == "near" {
					testkit.Eventually(t, "the timer has fired for which the driver waited", last.Load)
				}
				log.wantOneFailure(t)
				eng.timekeeper.mu.Lock()
				defer eng.timekeeper.mu.Unlock()
				if broken != nil && eng.timekeeper.alarm == broken {
					t.Error("the timerfd that failed is still in use")
				}
			})
		}
	}
}

// Shutdown is called when the timerfd has failed and the timekeeper has not noticed it.
func TestShutdownSucceedsWhileATimerfdFails(t *testing.T) {
	end := time.Now().Add(300 * time.Millisecond)
	for time.Now().Before(end) && !t.Failed() {
		eng, log := newWithLog(t, Config{Workers: 1})
		if _, err := eng.AfterFunc(20*time.Millisecond, func() {}); err != nil {
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
			t.Errorf("%d failures and %d recoveries were logged, want at most 1 and none",
				got, log.works.Load())
		}
	}
}

// The driver has closed a timerfd that could not be read, and has done nothing after that.
func TestShutdownSucceedsRightAfterATimerfdHasFailed(t *testing.T) {
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
	log.wantOneFailure(t)
}

func TestNoFileDescriptorIsLeftBehind(t *testing.T) {
	before := testkit.OpenFiles(t)
	for i := range 20 {
		eng, _ := newWithLog(t, Config{Workers: 2})
		if i%2 == 0 {
			fireMany(t, eng, 1, 3)
		}
		if i%4 == 0 {
			eng.timekeeper.mu.Lock()
			if eng.timekeeper.alarm != nil {
				eng.timekeeper.alarm.FD = 1<<31 - 1
			}
			eng.timekeeper.mu.Unlock()
			fireMany(t, eng, 1, 2)
		}
		closeNow(t, eng)
	}
	if after := testkit.OpenFiles(t); after > before {
		t.Errorf("%d file descriptors are open, want at most %d as before", after, before)
	}
}

func TestTimersFireWithoutATimerfd(t *testing.T) {
	eng, log := newWithLog(t, Config{Workers: 2})
	defer closeNow(t, eng)
	withoutFiles(t, func() {
		fireMany(t, eng, 4, 20)
		eng.timekeeper.mu.Lock()
		defer eng.timekeeper.mu.Unlock()
		if eng.timekeeper.alarm != nil {
			t.Skip("a timerfd could be opened")
		}
	})
	log.wantOneFailure(t)
}

// disturb breaks or repairs the timerfds of an engine, or makes the engine believe that a second has
// passed.
func disturb(eng *Engine, o *opener) {
	k := &eng.timekeeper
	k.mu.Lock()
	defer k.mu.Unlock()
	switch rand.IntN(8) {
	case 0:
		o.setFault(syscall.EMFILE, nil)
	case 1, 2:
		o.setFault(nil, nil)
	case 3:
		if k.alarm != nil {
			for _, fail := range timerfdFaults {
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

// Timerfds fail, are opened again and closed in any order, and the engine is shut down at any time.
func TestTimersFireWhileTimerfdsFailAndRecover(t *testing.T) {
	span := testkit.StressTime(t, 500*time.Millisecond)
	opened, tried, failed, works := 0, 0, int64(0), int64(0)
	for end := time.Now().Add(span); time.Now().Before(end) && !t.Failed(); {
		eng, log := newWithLog(t, Config{Workers: 1 + rand.IntN(3), Precise: rand.IntN(4) == 0})
		o := openerOf(eng)
		fireAfter(t, eng, time.Hour)
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
		fireMany(t, eng, 1+rand.IntN(3), 10+rand.IntN(30))
		if rand.IntN(2) == 0 {
			fireAfter(t, eng, rand.N(5*time.Millisecond))
			time.Sleep(rand.N(time.Millisecond))
		}
		closeNow(t, eng)
		close(stop)
		disturber.Wait()
		if n := o.left(); n != 0 {
			t.Errorf("%d of %d timerfds are open after Shutdown, want none", n, o.count())
		}
		opened += o.count()
		tried += o.tried()
		failed += log.failed.Load()
		works += log.works.Load()
	}
	t.Logf("%d of %d timerfds were opened; %d failures and %d recoveries were logged",
		opened, tried, failed, works)
}
