package time

import (
	"context"
	std "time"

	"github.com/foliot-go/foliot"
)

// shortest is what is left to the standard package: programs sleep for a nanosecond to let others
// run, and it knows who.
const shortest = Microsecond

// Sleep pauses the current goroutine for at least the duration d. A negative or zero
// duration causes Sleep to return immediately.
func Sleep(d Duration) {
	if d <= shortest {
		std.Sleep(d)
		return
	}
	if foliot.Default().Sleep(context.Background(), d) != nil {
		std.Sleep(d) // in a synctest bubble, which the default runtime is not part of
	}
}
