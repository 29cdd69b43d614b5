package natsserver

import (
	"os/exec"
	"syscall"
)

// EndWithParent makes a process that is not started yet end when this process does, also if that is killed.
func EndWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
