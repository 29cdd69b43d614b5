package alarm

import (
	"os"
	"syscall"
	"unsafe"
)

// Supported reports whether the system has timerfds.
const Supported = true

// An Alarm is a timerfd. Set may be called from any goroutine, also while another waits;
// Close must not run at the same time as Set, which may otherwise set a descriptor of
// somebody else that has got the number.
//
// The fields are there for tests that break an alarm.
type Alarm struct {
	File *os.File
	FD   uintptr
}

// The values are those of every architecture that Go knows.
const (
	clockMonotonic  = 1
	timerfdNonblock = syscall.O_NONBLOCK
	timerfdCloexec  = syscall.O_CLOEXEC
)

// itimerspec is what the kernel calls so.
type itimerspec struct {
	interval syscall.Timespec
	value    syscall.Timespec
}

// New makes an alarm that is not set. It fails where timerfds are not to be had: none are
// left, or the sandbox knows no such call.
func New() (*Alarm, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, clockMonotonic, timerfdNonblock|timerfdCloexec, 0)
	if errno != 0 {
		return nil, os.NewSyscallError("timerfd_create", errno)
	}
	return &Alarm{os.NewFile(fd, "timerfd"), fd}, nil
}

// Set makes the alarm go off in the given number of nanoseconds, at least one, in place
// of what was set before.
func (a *Alarm) Set(ns int64) error {
	spec := itimerspec{value: syscall.NsecToTimespec(ns)}
	_, _, errno := syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, a.FD, 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("timerfd_settime", errno)
	}
	return nil
}

// Wait waits until the alarm has gone off. The file is read, and not just polled, before
// the goroutine parks: an alarm that went off in between is not missed.
func (a *Alarm) Wait() error {
	var count [8]byte
	_, err := a.File.Read(count[:])
	return err
}

// Close gives the descriptor back and ends a Wait under way. A nil alarm may be closed.
func (a *Alarm) Close() {
	if a != nil {
		a.File.Close()
	}
}
