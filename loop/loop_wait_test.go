package loop

import (
	"context"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"
)

// patience bounds waits for things that take microseconds.
const patience = 20 * time.Second

// asleepIn runs the loop on a goroutine and returns when it sleeps, with how, and a channel
// for what Run returns.
func asleepIn(t *testing.T, l *Loop) (how signalBits, ended chan error) {
	t.Helper()
	ended = make(chan error, 1)
	go func() { ended <- l.Run(context.Background()) }()
	for end := time.Now().Add(patience); ; runtime.Gosched() {
		if how := l.signals.load() & sleepMask; how != 0 {
			return how, ended
		}
		if time.Now().After(end) {
			t.Fatal("the loop does not sleep")
		}
	}
}

func returned(t *testing.T, ended chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		t.Fatal("Run does not return")
		return nil
	}
}

// ways are the sleeps there are: without a deadline, with one, and with one but no alarm.
var ways = []struct {
	name    string
	prepare func(l *Loop)
	how     signalBits
}{
	{"no deadline", func(*Loop) {}, sleepOnChannel},
	{"a deadline", func(l *Loop) { l.CallLater(time.Hour, idle) }, sleepOnAlarm},
	{"a deadline and no alarm", func(l *Loop) { l.CallLater(time.Hour, idle); l.waker.alarmRetryAt = math.MaxInt64 }, sleepOnChannel},
}

func TestEverySignalEndsEverySleep(t *testing.T) {
	for _, way := range ways {
		for name, signal := range map[string]func(l *Loop){
			"Post":      func(l *Loop) { l.Post(l.Stop) },
			"PostBatch": func(l *Loop) { l.PostBatch([]func(){idle, l.Stop}) },
			"Stop":      func(l *Loop) { l.Stop() },
		} {
			t.Run(way.name+"/"+name, func(t *testing.T) {
				l := New(Options{})
				way.prepare(l)
				how, ended := asleepIn(t, l)
				if how != way.how && !(way.how == sleepOnAlarm && runtime.GOOS != "linux") {
					t.Errorf("the loop sleeps in way %b, want %b", how, way.how)
				}
				signal(l)
				if err := returned(t, ended); err != nil {
					t.Error(err)
				}
				if l.waker.alarm != nil {
					t.Error("the descriptor is kept")
				}
			})
		}
	}
}

func TestCloseEndsEverySleep(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			l := New(Options{})
			way.prepare(l)
			_, ended := asleepIn(t, l)
			l.Close()
			if err := returned(t, ended); err != ErrClosed {
				t.Error(err)
			}
			if l.waker.alarm != nil {
				t.Error("the descriptor is kept")
			}
		})
	}
}

// sleepsIn waits until the loop sleeps in the given way.
func sleepsIn(t *testing.T, l *Loop, how signalBits) {
	t.Helper()
	for end := time.Now().Add(patience); l.signals.load()&sleepMask != how; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("the loop sleeps in way %b, want %b", l.signals.load()&sleepMask, how)
		}
	}
}

// onLoop posts f and waits until it has run.
func onLoop(t *testing.T, l *Loop, f func()) {
	t.Helper()
	ran := make(chan struct{})
	l.Post(func() {
		defer close(ran)
		f()
	})
	select {
	case <-ran:
	case <-time.After(patience):
		t.Fatal("the callback is not called")
	}
}

// A messages is a slog handler that keeps the messages.
type messages struct {
	slog.Handler
	mu  sync.Mutex
	all []string
}

func (m *messages) Enabled(context.Context, slog.Level) bool { return true }

func (m *messages) Handle(_ context.Context, r slog.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, r.Message)
	return nil
}

func (m *messages) want(t *testing.T, n int) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.all) != n {
		t.Errorf("%d failures are logged, want %d: %q", len(m.all), n, m.all)
	}
}

func TestAnAlarmThatFailsIsReplacedByATimerAndTriedAgain(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no alarm here")
	}
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			log := messages{Handler: slog.DiscardHandler}
			l := New(Options{Logger: slog.New(&log)})
			s := l.state.Load()
			l.CallLater(time.Hour, idle)
			how, ended := asleepIn(t, l)
			if how != sleepOnAlarm {
				t.Fatalf("the loop sleeps in way %b", how)
			}
			for failures := range 3 {
				log.want(t, failures)
				before := s.readClock()
				repair := fault.cause(t, l)
				sleepsIn(t, l, sleepOnChannel)
				log.want(t, failures+1)
				onLoop(t, l, func() {
					if after := l.waker.alarmRetryAt - alarmRetryDelay; after < before || after > s.readClock() {
						t.Errorf("the alarm fails between %v and %v, and is tried again at %v", before, s.readClock(), l.waker.alarmRetryAt)
					}
					l.waker.alarmRetryAt = math.MaxInt64 // however long the test takes
				})
				sleepsIn(t, l, sleepOnChannel)
				fired := make(chan struct{})
				onLoop(t, l, func() { l.CallLater(time.Millisecond, func() { close(fired) }) })
				select {
				case <-fired:
				case <-time.After(patience):
					t.Fatal("the timer does not fire")
				}
				if repair != nil { // until then, it fails again and again
					for range 3 {
						onLoop(t, l, func() { l.waker.alarmRetryAt = 0 })
						sleepsIn(t, l, sleepOnChannel)
						onLoop(t, l, func() {
							if l.waker.alarmRetryAt == 0 {
								t.Error("the alarm is not tried again")
							}
						})
					}
					log.want(t, failures+1)
					repair()
				}
				onLoop(t, l, func() { l.waker.alarmRetryAt = 0 })
				sleepsIn(t, l, sleepOnAlarm)
				onLoop(t, l, idle) // ends a sleep on the new alarm
				sleepsIn(t, l, sleepOnAlarm)
				log.want(t, failures+1)
			}
			l.Stop()
			if err := returned(t, ended); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestALoopTriesAFailedAlarmAgainAfterASecond(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no alarm here")
	}
	l := New(Options{}) // nobody is told
	l.CallLater(time.Hour, idle)
	_, ended := asleepIn(t, l)
	faults[0].cause(t, l)
	sleepsIn(t, l, sleepOnChannel)
	time.Sleep(alarmRetryDelay)
	l.Post(idle)
	sleepsIn(t, l, sleepOnAlarm)
	l.Stop()
	if err := returned(t, ended); err != nil {
		t.Error(err)
	}
}

func TestALateWakeUpOnlyCutsASleepShort(t *testing.T) {
	for _, how := range []signalBits{sleepOnChannel, sleepOnAlarm} {
		l := New(Options{})
		fired := false
		start := time.Now()
		l.CallLater(30*time.Millisecond, func() { fired = true })
		l.CallLater(10*time.Millisecond, func() { l.waker.wake(how) }) // of a sleep that is over
		if err := l.RunUntilIdle(context.Background()); err != nil || !fired {
			t.Fatal(err, fired)
		}
		if time.Since(start) < 30*time.Millisecond {
			t.Error("early")
		}
	}
}
