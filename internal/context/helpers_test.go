package context

import (
	std "context"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

// The names of the standard package that the tests use.
var (
	Canceled         = std.Canceled
	DeadlineExceeded = std.DeadlineExceeded
	Background       = std.Background
	Cause            = std.Cause
)

// WithTimeout makes a context of the default engine.
func WithTimeout(parent Context, d time.Duration) (Context, CancelFunc) {
	now := time.Now()
	return WithDeadline(engine.Default(), parent, now, now.Add(d), d, nil)
}
