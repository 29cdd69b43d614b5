//go:build race

package contract_test

// blockedBound is how late a timer may be while callbacks block. The documentation says 50 ms, but
// under the race detector a hundred goroutines that start at the same time need longer.
const blockedBound = 400 * millisecond
