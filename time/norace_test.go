//go:build !race

package time_test

const raceEnabled = false
