package context

import (
	"time"

	_ "github.com/foliot-go/foliot" // sets the functions of package door
	"github.com/foliot-go/foliot/internal/door"
)

// A timer is a one-shot of the default runtime. The zero timer is not armed.
type timer struct{ door.Brief }

// armTimer has f called after d, on a worker of the default runtime. f must not block, and must
// not call code of the program. armTimer returns false, and does nothing, if the caller is in a
// synctest bubble.
func armTimer(d time.Duration, f func()) (timer, bool) {
	b, err := door.ArmBrief(d, f)
	return timer{b}, err == nil
}

// stop stops the timer, and reports whether it was armed.
func (t timer) stop() bool { return door.StopBrief(t.Brief) }
