//go:build race

package bench

// raceEnabled: the race detector is on, and would find the races of others, too.
const raceEnabled = true
