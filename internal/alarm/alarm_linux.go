package alarm

import (
	"os"
	"syscall"
	"unsafe"
)

// Supported reports whether the system has timerfds.
const Supported = true

// An Alarm is a timerfd. Set may be called from any goroutine, even while another one is in
// Wait. Close must not run at the same time as Set: the number of the descriptor may be
// reused at once, and Set would then change a file that belongs to other code.
//
// The fields are exported for tests that break an alarm.
type Alarm struct {
	File *os.File
	FD   uintptr
}

// The values are the same on all architectures that Go supports.
const (
	clockMonotonic  = 1
	timerfdNonblock = syscall.O_NONBLOCK
	timerfdCloexec  = syscall.O_CLOEXEC
)

// itimerspec is struct itimerspec of the kernel.
type itimerspec struct {
	interval syscall.Timespec
	value    syscall.Timespec
}

// New returns an alarm that is not set. It fails if there is no free file descriptor, or if
// a sandbox does not support timerfds.
func New() (*Alarm, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, clockMonotonic, timerfdNonblock|timerfdCloexec, 0)
	if errno != 0 {
		return nil, os.NewSyscallError("timerfd_create", errno)
	}
	return &Alarm{os.NewFile(fd, "timerfd"), fd}, nil
}

// Set makes the alarm go off in ns nanoseconds, which must be at least 1. It replaces the
// time that was set before.
func (a *Alarm) Set(ns int64) error {
	spec := itimerspec{value: syscall.NsecToTimespec(ns)}
	_, _, errno := syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, a.FD, 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("timerfd_settime", errno)
	}
	return nil
}

// Wait waits until the alarm has gone off. An alarm that goes off before the call is not
// missed, because Wait reads the file before the goroutine parks.
func (a *Alarm) Wait() error {
	var count [8]byte
	_, err := a.File.Read(count[:])
	return err
}

// Close closes the descriptor and ends a concurrent Wait. It does nothing if a is nil.
func (a *Alarm) Close() {
	if a != nil {
		a.File.Close()
	}
}
