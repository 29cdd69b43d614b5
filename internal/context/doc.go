// Package context implements contexts whose deadlines are timers of an engine. The drop-in package
// context uses it with the default engine, and package foliot with the engine of any runtime. It
// bears the name of the standard package because programs that print the type of a context see it.
//
// Contexts of this package, on any engine, mix freely with standard contexts: they may be above and
// below each other in any order, with any wrapper in between, and each has the right error and
// cause. As in the standard package, only a context below a foreign one may need a goroutine.
//
// Read the files in this order:
//
//	cancel.go    WithCancel and its context
//	deadline.go  WithDeadline and its context
//	reason.go    why a context ended
//	node.go      what the contexts have in common: how they end, with a table of phases
//	parent.go    finds what a new context ends with
//	relay.go     notifies many contexts of the end of a standard one
//	bridge.go    standard contexts below contexts of this package
//	standard.go  what this package knows about the internals of the standard one
//
// Words that the files use:
//
//	end      a context has ended once Err returns an error
//	above    the parent, its parent and so on; below is the opposite
//	source   the standard context above the topmost context of this package
//	wrapper  a user type with a context in it, or a context from WithValue
//	foreign  a context of an unknown type with its own Done
package context

import std "context"

// The types of the standard package.
type (
	Context         = std.Context
	CancelFunc      = std.CancelFunc
	CancelCauseFunc = std.CancelCauseFunc
)
