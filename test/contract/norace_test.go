//go:build !race

package contract_test

// blockedBound is how late a timer may be while callbacks block.
const blockedBound = 50 * millisecond
