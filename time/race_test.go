//go:build race

package time_test

const raceEnabled = true
