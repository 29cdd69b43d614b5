package loop

import (
	"context"
	"runtime"
	"testing"
	"time"
)

// patience bounds waits for things that take microseconds.
const patience = 20 * time.Second

// asleepIn runs the loop on a goroutine and returns when it sleeps, with how, and a channel
// for what Run returns.
func asleepIn(t *testing.T, l *Loop) (how word, ended chan error) {
	t.Helper()
	ended = make(chan error, 1)
	go func() { ended <- l.Run(context.Background()) }()
	for end := time.Now().Add(patience); ; runtime.Gosched() {
		if how := l.board.load() & asleep; how != 0 {
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
	how     word
}{
	{"no deadline", func(*Loop) {}, onBell},
	{"a deadline", func(l *Loop) { l.CallLater(time.Hour, idle) }, onAlarm},
	{"a deadline and no alarm", func(l *Loop) { l.CallLater(time.Hour, idle); l.waker.failed = true }, onBell},
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
				if how != way.how && !(way.how == onAlarm && runtime.GOOS != "linux") {
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

func TestAnAlarmThatFailsIsReplacedByATimer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no alarm here")
	}
	for _, fault := range []string{"closed under the sleeper", "cannot be set by the waker"} {
		t.Run(fault, func(t *testing.T) {
			l := New(Options{})
			l.CallLater(time.Hour, idle)
			how, ended := asleepIn(t, l)
			if how != onAlarm {
				t.Fatalf("the loop sleeps in way %b", how)
			}
			ran := make(chan struct{})
			l.waker.mu.Lock()
			breakAlarm(l.waker.alarm, fault)
			l.waker.mu.Unlock()
			l.Post(func() {
				l.CallLater(time.Millisecond, func() { close(ran) })
			})
			select {
			case <-ran:
			case <-time.After(patience):
				t.Fatal("the timer does not fire")
			}
			l.Stop()
			if err := returned(t, ended); err != nil {
				t.Error(err)
			}
			if !l.waker.failed {
				t.Error("the alarm has not failed")
			}
		})
	}
}

func TestALateWakeUpOnlyCutsASleepShort(t *testing.T) {
	for _, how := range []word{onBell, onAlarm} {
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
