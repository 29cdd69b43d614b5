//go:build race

package foliot

const walkRace = true
