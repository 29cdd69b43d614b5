//go:build race

package bench

// raceEnabled says that the race detector is on. It would also find the data races of other packages.
const raceEnabled = true
