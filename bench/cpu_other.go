//go:build !linux

package bench

// cpuName is not known here.
func cpuName() string { return "" }
