//go:build unix

package natstest

import (
	"os"
	"syscall"
)

var (
	terminate      os.Signal = syscall.SIGTERM
	stopSignal     os.Signal = syscall.SIGSTOP
	continueSignal os.Signal = syscall.SIGCONT
)
