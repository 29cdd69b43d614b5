//go:build !race

package wheel_test

// raceEnabled is 1 with the race detector, which makes tests about ten times slower, and 0 without.
// Tests use it to reduce their work.
const raceEnabled = 0
