package context

import (
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

// A timer is a one-shot of the default engine. The zero timer is not armed.
type timer struct{ t engine.Timer }

// armTimer has f called after d, on a worker of the default engine. now is what time.Now has just
// returned: reading the clock again would take a tenth of the time of a context. f must not block,
// and must not call code of the program. armTimer returns false, and does nothing, if the caller is
// in a synctest bubble.
func armTimer(now time.Time, d time.Duration, f func()) (timer, bool) {
	t, err := engine.Default().AfterBrief(now, d, f)
	return timer{t}, err == nil
}

// stop stops the timer, and reports whether it was armed.
func (t timer) stop() bool { return t.t.Stop() }
