package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

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
		h.bytes = n << 10
		h.memory = fmt.Sprintf("%d GiB", (h.bytes+1<<29)>>30)
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

// threadCPU returns the processor time of this thread, which leaves out the time in which the machine did something
// else. The goroutine must be locked to its thread.
func threadCPU() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err) // Linux has this clock since 2.6.12
	}
	return time.Duration(ts.Nano())
}

// processUsage returns the processor time and the resident memory of another process. Linux counts the time in steps of
// 10 ms.
func processUsage(pid int) (cpu time.Duration, memory int64, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name before may have spaces in it
	const user, system, resident = 11, 12, 21                       // the places in the fields that follow the name
	if len(fields) <= resident {
		return 0, 0, false
	}
	number := func(field int) int64 {
		n, _ := strconv.ParseInt(string(fields[field]), 10, 64)
		return n
	}
	const ticks = 100 // in a second, on all platforms of Go
	return time.Duration(number(user)+number(system)) * time.Second / ticks, number(resident) * int64(os.Getpagesize()), true
}
