//go:build race

package foliot_test

const (
	contractRace = true

	// blockedBound is how late a timer may be while callbacks block. The contract says 50 ms; under the race
	// detector a hundred goroutines that start at once need longer for themselves.
	blockedBound = 400 * millisecond
)
