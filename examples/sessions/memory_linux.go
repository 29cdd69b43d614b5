package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// memory returns the resident memory of this process in bytes.
func memory() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(b), &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}

// available returns the bytes of memory that are free on the machine, or in the container if
// that is less.
func available() int {
	free := 1 << 30
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			var kb int
			if _, err := fmt.Sscanf(line, "MemAvailable: %d kB", &kb); err == nil {
				free = kb << 10
			}
		}
	}
	limit, err1 := number("/sys/fs/cgroup/memory.max")
	used, err2 := number("/sys/fs/cgroup/memory.current")
	if err1 == nil && err2 == nil {
		free = min(free, max(limit-used, 0))
	}
	return free
}

func number(file string) (int, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}
