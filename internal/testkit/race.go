//go:build race

package testkit

// RaceEnabled reports whether the race detector is on. It makes programs several times
// slower, and allocates.
const RaceEnabled = true
