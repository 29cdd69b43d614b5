package time

import (
	"context"
	std "time"

	"github.com/foliot-go/foliot/internal/engine"
)

// shortest is the longest duration for which Sleep calls the Sleep of the standard package.
// Programs sleep for a nanosecond to let other goroutines run. The standard Sleep leaves it to
// the scheduler which of them runs.
const shortest = Microsecond

// Sleep pauses the calling goroutine for at least d. If d is 0 or less, Sleep returns at once.
func Sleep(d Duration) {
	if d <= shortest {
		std.Sleep(d)
		return
	}
	if engine.Default().Sleep(context.Background(), d) != nil {
		std.Sleep(d) // the caller is in a synctest bubble, and the default engine is not
	}
}
