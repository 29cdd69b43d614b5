package foliot

import (
	"os"
	"syscall"
	"unsafe"
)

// An alarm is a timerfd that a goroutine waits for in Go's network poller. It is some
// ten times more exact than the poller's own timeouts, which are whole milliseconds, and
// can be set anew while somebody waits for it.
type alarm struct {
	file *os.File
	fd   uintptr
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

// newAlarm makes an alarm that is not set. It fails where timerfds are not to be had:
// none are left, or the sandbox knows no such call.
func newAlarm() (*alarm, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, clockMonotonic, timerfdNonblock|timerfdCloexec, 0)
	if errno != 0 {
		return nil, os.NewSyscallError("timerfd_create", errno)
	}
	return &alarm{os.NewFile(fd, "timerfd"), fd}, nil
}

// set makes the alarm go off in the given number of nanoseconds, at least one, in place
// of what was set before.
func (a *alarm) set(ns int64) error {
	spec := itimerspec{value: syscall.NsecToTimespec(ns)}
	_, _, errno := syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, a.fd, 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("timerfd_settime", errno)
	}
	return nil
}

// wait waits until the alarm has gone off. The file is read, and not just polled, before
// the goroutine parks: an alarm that went off in between is not missed.
func (a *alarm) wait() error {
	var count [8]byte
	_, err := a.file.Read(count[:])
	return err
}

func (a *alarm) close() {
	if a != nil {
		a.file.Close()
	}
}
