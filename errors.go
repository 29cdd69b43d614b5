package foliot

import "errors"

// Errors to compare with errors.Is. All other errors describe a wrong argument or a wrong use.
var (
	// ErrClosed is returned by the methods of a runtime after Shutdown.
	ErrClosed = errors.New("foliot: the runtime is shut down")

	// ErrFull is returned when a runtime has as many timers as Options.MaxTimers allows. A
	// timer of AfterFunc stops counting when it is stopped or fires, a timer of NewTimer when
	// it is freed.
	ErrFull = errors.New("foliot: the runtime has Options.MaxTimers timers already")
)

var (
	errNilFunc     = errors.New("foliot: nil callback: pass the function to run")
	errNilTask     = errors.New("foliot: nil task: pass the Task to poll")
	errDefault     = errors.New("foliot: the default runtime is shared by the whole program and cannot be shut down; make one with New")
	errClockBubble = errors.New("foliot: Options.Clock serves a runtime of another synctest bubble, or of none; make a clock for each")
	errBubble      = errors.New("foliot: the caller is in another synctest bubble than the runtime, or only one of them is in a bubble; make a runtime with New where it is used")
)
