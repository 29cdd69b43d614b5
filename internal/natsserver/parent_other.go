//go:build !linux

package natsserver

import "os/exec"

// EndWithParent does nothing: this system cannot end a process together with its parent.
func EndWithParent(*exec.Cmd) {}
