package time

import (
	"context"
	std "time"

	"github.com/foliot-go/foliot/internal/engine"
)

// short is the longest duration for which Sleep and Ticker use the standard package. For so
// short a wait the default engine arms a standard timer anyway, and the standard package can do
// what no other can: the scheduler runs its timers on the way to the next goroutine, and a
// channel that is polled fills itself.
const short = 250 * std.Microsecond

// leastWait is the longest duration for which Sleep always calls the Sleep of the standard
// package. Programs sleep for a nanosecond to let other goroutines run. The standard Sleep leaves
// it to the scheduler which of them runs.
const leastWait = Microsecond

// isShort reports whether a wait of d is left to the standard package. If the program has set
// another default engine, no wait is: that engine may be more exact.
func isShort(d Duration) bool {
	return d <= short && engine.Default().StdOnly()
}

// Sleep pauses the calling goroutine for at least d. If d is 0 or less, Sleep returns at once.
func Sleep(d Duration) {
	if d <= leastWait || isShort(d) {
		std.Sleep(d)
		return
	}
	if engine.Default().Sleep(context.Background(), d) != nil {
		std.Sleep(d) // the caller is in a synctest bubble, and the default engine is not
	}
}
