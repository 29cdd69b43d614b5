package loop

import (
	"syscall"
	"testing"
)

// A fault makes the alarm of a loop fail that sleeps on it. If the next alarm fails, too, cause returns what ends that.
type fault struct {
	name  string
	cause func(t *testing.T, l *Loop) (repair func())
}

const noDescriptor = 1<<31 - 1

var faults = []fault{
	{"closed under the sleeper", func(_ *testing.T, l *Loop) func() {
		l.waker.mu.Lock()
		defer l.waker.mu.Unlock()
		l.waker.alarm.File.Close()
		return nil
	}},
	{"cannot be set by a waker", func(t *testing.T, l *Loop) func() {
		l.waker.mu.Lock()
		l.waker.alarm.FD = noDescriptor
		l.waker.mu.Unlock()
		onLoop(t, l, idle)
		return nil
	}},
	{"cannot be set by a waker that is late", func(t *testing.T, l *Loop) func() {
		onLoop(t, l, func() {
			l.waker.mu.Lock()
			l.waker.alarm.FD = noDescriptor
			l.waker.mu.Unlock()
			l.waker.wake(sleepOnAlarm)
		})
		return nil
	}},
	{"cannot be set by the loop", func(t *testing.T, l *Loop) func() {
		onLoop(t, l, func() {
			l.waker.mu.Lock()
			defer l.waker.mu.Unlock()
			l.waker.alarm.FD = noDescriptor
		})
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
		onLoop(t, l, l.waker.closeAlarm)
		return repair
	}},
}
