//go:build !race

package loop_test

// raceEnabled is whether the race detector watches, which makes everything several times slower.
const raceEnabled = false
