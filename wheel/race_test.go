//go:build race

package wheel_test

const raceEnabled = 1
