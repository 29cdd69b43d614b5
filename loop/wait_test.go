package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

// startAsleep calls Run on a new goroutine, and returns when the loop sleeps. It returns
// the sleep mode, and a channel that gets the error of Run.
func startAsleep(t *testing.T, l *Loop) (mode signalBits, ended <-chan error) {
	t.Helper()
	ended = testkit.Async(func() error { return l.Run(context.Background()) })
	testkit.Eventually(t, "the loop sleeps", func() bool {
		mode = l.signals.load() & sleepMask
		return mode != 0
	})
	return mode, ended
}

// wantAsleep waits until the loop sleeps in the given mode.
func wantAsleep(t *testing.T, l *Loop, mode signalBits) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("the loop sleeps in mode %b", mode), func() bool {
		return l.signals.load()&sleepMask == mode
	})
}

// wantEnd waits until Run has returned, and checks its error.
func wantEnd(t *testing.T, ended <-chan error, want error) {
	t.Helper()
	if err := testkit.Receive(t, ended, "the end of Run"); !errors.Is(err, want) {
		t.Errorf("Run returned %v, want %v", err, want)
	}
}

// callOnLoop posts f and waits until it has run.
func callOnLoop(t *testing.T, l *Loop, f func()) {
	t.Helper()
	ran := make(chan struct{})
	l.Post(func() {
		defer close(ran)
		f()
	})
	testkit.Receive(t, ran, "a posted callback")
}

// sleeps has the ways in which a loop can sleep.
var sleeps = []struct {
	name    string
	prepare func(l *Loop)
	mode    signalBits
}{
	{"no deadline", func(*Loop) {}, sleepOnChannel},
	{"a deadline", func(l *Loop) { l.CallLater(time.Hour, noop) }, sleepOnAlarm},
	{"a deadline and no alarm", func(l *Loop) {
		l.CallLater(time.Hour, noop)
		l.waker.alarmRetryAt = math.MaxInt64
	}, sleepOnChannel},
}

func TestEverySignalEndsEverySleep(t *testing.T) {
	for _, sleep := range sleeps {
		for _, signal := range []struct {
			name string
			send func(l *Loop)
			want error // of Run
		}{
			{"Post", func(l *Loop) { l.Post(l.Stop) }, nil},
			{"PostBatch", func(l *Loop) { l.PostBatch([]func(){noop, l.Stop}) }, nil},
			{"Stop", func(l *Loop) { l.Stop() }, nil},
			{"Close", func(l *Loop) { l.Close() }, ErrClosed},
		} {
			t.Run(sleep.name+"/"+signal.name, func(t *testing.T) {
				l := New(Options{})
				sleep.prepare(l)
				mode, ended := startAsleep(t, l)
				if mode != sleep.mode && !(sleep.mode == sleepOnAlarm && runtime.GOOS != "linux") {
					t.Errorf("the loop sleeps in mode %b, want %b", mode, sleep.mode)
				}
				signal.send(l)
				wantEnd(t, ended, signal.want)
				if l.waker.alarm != nil {
					t.Error("the alarm is not closed after Run")
				}
			})
		}
	}
}

// wantFailures checks how many failures of the alarm were logged.
func wantFailures(t *testing.T, log *testkit.LogRecorder, want int) {
	t.Helper()
	if got := log.Records(); len(got) != want {
		t.Errorf("%d failures are logged, want %d: %q", len(got), want, got)
	}
}

func TestAnAlarmThatFailsIsReplacedByATimerAndTriedAgain(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has alarms")
	}
	for _, fault := range alarmFaults {
		t.Run(fault.name, func(t *testing.T) {
			var log testkit.LogRecorder
			l := New(Options{Logger: slog.New(&log)})
			s := l.state.Load()
			l.CallLater(time.Hour, noop)
			mode, ended := startAsleep(t, l)
			if mode != sleepOnAlarm {
				t.Fatalf("the loop sleeps in mode %b, want %b", mode, sleepOnAlarm)
			}
			retryNow := func() { callOnLoop(t, l, func() { l.waker.alarmRetryAt = 0 }) }
			for failures := range 3 {
				wantFailures(t, &log, failures)
				before := s.readClock()
				repair := fault.cause(t, l)
				wantAsleep(t, l, sleepOnChannel)
				wantFailures(t, &log, failures+1)
				callOnLoop(t, l, func() {
					now := s.readClock()
					if failed := l.waker.alarmRetryAt - alarmRetryDelay; failed < before || failed > now {
						t.Errorf("the retry of an alarm that failed between %v and %v is at %v",
							before, now, l.waker.alarmRetryAt)
					}
					l.waker.alarmRetryAt = math.MaxInt64 // the test may take longer than the delay
				})
				wantAsleep(t, l, sleepOnChannel)
				fired := make(chan struct{})
				callOnLoop(t, l, func() { l.CallLater(time.Millisecond, func() { close(fired) }) })
				testkit.Receive(t, fired, "a timer without an alarm")
				if repair != nil { // new alarms fail until repair is called
					for range 3 {
						retryNow()
						wantAsleep(t, l, sleepOnChannel)
						callOnLoop(t, l, func() {
							if l.waker.alarmRetryAt == 0 {
								t.Error("no new alarm was tried")
							}
						})
					}
					wantFailures(t, &log, failures+1)
					repair()
				}
				retryNow()
				wantAsleep(t, l, sleepOnAlarm)
				callOnLoop(t, l, noop) // ends a sleep on the new alarm
				wantAsleep(t, l, sleepOnAlarm)
				wantFailures(t, &log, failures+1)
			}
			l.Stop()
			wantEnd(t, ended, nil)
		})
	}
}

func TestALoopTriesAFailedAlarmAgainAfterASecond(t *testing.T) {
	testkit.SkipIfShort(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has alarms")
	}
	l := New(Options{}) // without a logger
	l.CallLater(time.Hour, noop)
	_, ended := startAsleep(t, l)
	alarmFaults[0].cause(t, l)
	wantAsleep(t, l, sleepOnChannel)
	time.Sleep(alarmRetryDelay)
	l.Post(noop)
	wantAsleep(t, l, sleepOnAlarm)
	l.Stop()
	wantEnd(t, ended, nil)
}

func TestALateWakeUpOnlyEndsASleepEarly(t *testing.T) {
	for _, mode := range []signalBits{sleepOnChannel, sleepOnAlarm} {
		l := New(Options{})
		fired := false
		start := time.Now()
		l.CallLater(30*time.Millisecond, func() { fired = true })
		l.CallLater(10*time.Millisecond, func() { l.waker.wake(mode) }) // for a sleep that is over
		if err := l.RunUntilIdle(context.Background()); err != nil || !fired {
			t.Fatalf("mode %b: RunUntilIdle returned %v, the timer fired: %t", mode, err, fired)
		}
		if took := time.Since(start); took < 30*time.Millisecond {
			t.Errorf("mode %b: a timer of 30ms fired after %v", mode, took)
		}
	}
}
