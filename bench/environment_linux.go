package bench

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machine returns what Linux says about the machine.
func machine() host {
	h := host{cpu: procLine("/proc/cpuinfo", "model name")}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
	}
	kilobytes, _, _ := strings.Cut(procLine("/proc/meminfo", "MemTotal"), " ")
	if n, err := strconv.ParseInt(kilobytes, 10, 64); err == nil {
		h.memory = n << 10
	}
	return h
}

// procLine returns the value of the first line of a file in /proc that has the key.
func procLine(file, key string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
