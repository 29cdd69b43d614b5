package loop

import (
	"syscall"
	"testing"
)

// An alarmFault is a way in which the alarm of a loop can fail. cause makes it fail while
// the loop sleeps on it. If new alarms fail, too, cause returns a function that ends
// this.
type alarmFault struct {
	name  string
	cause func(t *testing.T, l *Loop) (repair func())
}

// breakAlarm makes every later Set of the alarm fail.
func breakAlarm(l *Loop) {
	const noDescriptor = 1<<31 - 1
	l.waker.mu.Lock()
	defer l.waker.mu.Unlock()
	l.waker.alarm.FD = noDescriptor
}

var alarmFaults = []alarmFault{
	{"closed while the loop sleeps", func(_ *testing.T, l *Loop) func() {
		l.waker.mu.Lock()
		defer l.waker.mu.Unlock()
		l.waker.alarm.File.Close()
		return nil
	}},
	{"cannot be set by a goroutine that wakes the loop", func(t *testing.T, l *Loop) func() {
		breakAlarm(l)
		callOnLoop(t, l, noop)
		return nil
	}},
	{"cannot be set by a goroutine that wakes the loop too late", func(t *testing.T, l *Loop) func() {
		callOnLoop(t, l, func() {
			breakAlarm(l)
			l.waker.wake(sleepOnAlarm)
		})
		return nil
	}},
	{"cannot be set by the loop", func(t *testing.T, l *Loop) func() {
		callOnLoop(t, l, func() { breakAlarm(l) })
		return nil
	}},
	{"cannot be made", func(t *testing.T, l *Loop) func() {
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Skip(err)
		}
		none := limit
		none.Cur = 0
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
			t.Skip(err)
		}
		repair := func() {
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
				t.Error(err)
			}
		}
		t.Cleanup(repair)
		callOnLoop(t, l, l.waker.closeAlarm)
		return repair
	}},
}
