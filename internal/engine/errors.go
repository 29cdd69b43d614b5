package engine

import "errors"

// The errors are those of package foliot, for which they speak.
var (
	ErrClosed  = errors.New("foliot: the runtime is shut down")
	ErrFull    = errors.New("foliot: the runtime has Options.MaxTimers timers already")
	ErrNilFunc = errors.New("foliot: nil callback: pass the function to run")

	errDefault     = errors.New("foliot: the default runtime is shared by the whole program and cannot be shut down; make one with New")
	errClockBubble = errors.New("foliot: Options.Clock serves a runtime of another synctest bubble, or of none; make a clock for each")
	errBubble      = errors.New("foliot: the caller is in another synctest bubble than the runtime or the fake clock, or only one of them is in a bubble; make the runtime or the clock where it is used")

	errDefaultInUse  = errors.New("foliot: SetDefault comes too late, the default runtime is in use; call it at the start of main")
	errDefaultBubble = errors.New("foliot: SetDefault in a synctest bubble; call it outside, as the default runtime must outlive the bubble")
)
