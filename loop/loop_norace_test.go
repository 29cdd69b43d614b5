//go:build !race

package loop

// raceDetector says that the race detector is on, which allocates.
const raceDetector = false
