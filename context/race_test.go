//go:build race

package context_test

const raceEnabled = true
