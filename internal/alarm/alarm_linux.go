package alarm

import (
	"os"
	"syscall"
	"unsafe"
)

// Supported reports whether the system has timerfds.
const Supported = true

// An Alarm is a timerfd. Set may be called from any goroutine, even while another is in Wait. Close
// must not run concurrently with Set: the descriptor's number may be reused immediately, and Set
// would then change a file that belongs to other code.
//
// Set and Wait use raw system calls. While all Ps are idle, Go's system monitor sleeps. An ordinary
// system call wakes it, and it then polls every 20 µs for a while, which would double the cost of a
// wake-up. A raw call must not block, because Go's scheduler does not know about it;
// timerfd_settime and reads of a non-blocking file never do.
//
// File and FD are exported for tests that break an alarm.
type Alarm struct {
	File *os.File
	FD   uintptr

	// These belong to the goroutine in Wait.
	conn  syscall.RawConn       // of File
	read  func(fd uintptr) bool // tryRead
	count [8]byte
	errno syscall.Errno // from read
}

// The values are the same on all architectures that Go supports.
const (
	clockMonotonic  = 1
	timerfdNonblock = syscall.O_NONBLOCK
	timerfdCloexec  = syscall.O_CLOEXEC
)

// itimerspec is the kernel's struct itimerspec.
type itimerspec struct {
	interval syscall.Timespec
	value    syscall.Timespec
}

// New returns an alarm that is not set. It fails if no file descriptor is free, or in a sandbox
// that does not support timerfds.
func New() (*Alarm, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, clockMonotonic, timerfdNonblock|timerfdCloexec, 0)
	if errno != 0 {
		return nil, os.NewSyscallError("timerfd_create", errno)
	}
	a := &Alarm{File: os.NewFile(fd, "timerfd"), FD: fd}
	conn, err := a.File.SyscallConn()
	if err != nil {
		a.File.Close()
		return nil, err
	}
	a.conn = conn
	a.read = a.tryRead
	return a, nil
}

// Set makes the alarm go off in ns nanoseconds (at least 1), and replaces any earlier setting.
func (a *Alarm) Set(ns int64) error {
	spec := itimerspec{value: syscall.NsecToTimespec(ns)}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_TIMERFD_SETTIME, a.FD, 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("timerfd_settime", errno)
	}
	return nil
}

// Wait waits until the alarm goes off. It does not miss an alarm that went off before the call,
// because it reads the file before it parks the goroutine.
func (a *Alarm) Wait() error {
	if err := a.conn.Read(a.read); err != nil {
		return err
	}
	if a.errno != 0 {
		return os.NewSyscallError("read", a.errno)
	}
	return nil
}

// tryRead reads how often the alarm has gone off. It returns false if it has not, so that the
// goroutine parks.
func (a *Alarm) tryRead(fd uintptr) bool {
	for a.errno = syscall.EINTR; a.errno == syscall.EINTR; {
		_, _, a.errno = syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&a.count)), uintptr(len(a.count)))
	}
	return a.errno != syscall.EAGAIN
}

// Close closes the descriptor and ends a concurrent Wait. It does nothing if a is nil.
func (a *Alarm) Close() {
	if a != nil {
		a.File.Close()
	}
}
