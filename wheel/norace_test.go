//go:build !race

package wheel_test

// raceEnabled is 1 under the race detector, where memory accesses take ten times as long.
const raceEnabled = 0
