//go:build race

package contract_test

// blockedBound is how late a timer may be while callbacks block. The contract says 50 ms; under the race
// detector a hundred goroutines that start at once need longer for themselves.
const blockedBound = 400 * millisecond
