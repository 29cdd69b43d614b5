package foliot

import (
	"errors"

	"github.com/foliot-go/foliot/internal/engine"
)

// Errors to compare with errors.Is. All other errors describe a wrong argument or a wrong use.
var (
	// ErrClosed is returned by the methods of a runtime after Shutdown.
	ErrClosed = engine.ErrClosed

	// ErrFull is returned when a runtime has as many timers as Options.MaxTimers allows. A
	// timer of AfterFunc and a timer with a channel stop counting when they are stopped or fire, a
	// context when it ends, a timer of NewTimer or Every when it is freed.
	ErrFull = engine.ErrFull
)

var errNilTask = errors.New("foliot: nil task: pass the Task to poll")
