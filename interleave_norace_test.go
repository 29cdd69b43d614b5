//go:build !race

package foliot

// walkRace says that the race detector is on, which makes a step some twenty times slower.
const walkRace = false
