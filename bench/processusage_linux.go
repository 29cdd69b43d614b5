package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

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
