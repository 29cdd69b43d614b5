//go:build !asan && !msan

package engine

// sanitized reports whether the program is built with -asan or -msan, which check every load.
const sanitized = false
