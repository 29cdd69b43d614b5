package time

import (
	"context"
	std "time"

	"github.com/foliot-go/foliot"
)

// Sleep pauses the current goroutine for at least the duration d. A negative or zero
// duration causes Sleep to return immediately.
func Sleep(d Duration) {
	if d <= 0 {
		return
	}
	if foliot.Default().Sleep(context.Background(), d) != nil {
		std.Sleep(d) // in a synctest bubble, which the default runtime is not part of
	}
}
