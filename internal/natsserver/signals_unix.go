//go:build unix

package natsserver

import (
	"os"
	"syscall"
)

var (
	terminate      os.Signal = syscall.SIGTERM
	stopSignal     os.Signal = syscall.SIGSTOP
	continueSignal os.Signal = syscall.SIGCONT
)
