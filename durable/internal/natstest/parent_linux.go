package natstest

import (
	"os/exec"
	"syscall"
)

// endWithParent makes a process end when the test process does, also if that is killed.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
