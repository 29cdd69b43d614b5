//go:build race

package loop

const raceDetector = true
