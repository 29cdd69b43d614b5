package foliot

import "errors"

// Errors that callers may want to tell apart. Others say what is wrong with an argument.
var (
	// ErrClosed is what a runtime answers after Shutdown.
	ErrClosed = errors.New("foliot: the runtime is shut down")

	// ErrFull is what a runtime answers when it has as many timers as Options.MaxTimers
	// allows. Stopped, freed and fired timers make room again.
	ErrFull = errors.New("foliot: full: there are Options.MaxTimers timers already")
)

var (
	errNilFunc     = errors.New("foliot: nil callback: pass the function to run")
	errNilTask     = errors.New("foliot: nil task: pass the Task to poll")
	errDefault     = errors.New("foliot: the default runtime is shared by the whole program and cannot be shut down; make one with New")
	errClockBubble = errors.New("foliot: Options.Clock serves a runtime of another synctest bubble, or of none; make a clock for each")
	errBubble      = errors.New("foliot: this runtime belongs to another synctest bubble, or to none; make one with New where it is used")
)
