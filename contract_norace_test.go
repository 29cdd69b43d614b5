//go:build !race

package foliot_test

const (
	// contractRace says that the race detector is on: allocation counts mean nothing then, and bursts are smaller.
	contractRace = false

	// blockedBound is the contract's bound on how late a timer may be while callbacks block.
	blockedBound = 50 * millisecond
)
