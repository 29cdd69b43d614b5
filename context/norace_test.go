//go:build !race

package context_test

const raceEnabled = false
