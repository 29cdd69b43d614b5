// Package context has contexts with deadlines on the timers of an engine. The drop-in package context
// has those of the default engine, and package foliot those of any runtime. It has the name of the
// standard package because programs that print the type of a context see it.
//
// Contexts of this package, whatever their engines are, and standard contexts can be above and below
// each other, in any order and with any wrapper in between. Each has the right error and cause. As
// with the standard package, only a context below one of an unknown type may need a goroutine.
//
// # Files
//
// In the order in which they are best read:
//
//	cancel.go    WithCancel and its context
//	deadline.go  WithDeadline and its context
//	reason.go    why a context has ended
//	node.go      the common part of the contexts: how they end, with a table of its phases
//	parent.go    finds what a new context ends with
//	relay.go     tells many contexts of the end of a standard one
//	bridge.go    standard contexts below contexts of this package
//	standard.go  what must be known of the standard package
//
// Words that the files use:
//
//	end      a context has ended when Err returns an error
//	above    the parent, its parent and so on; below is the opposite
//	source   the standard context above the topmost context of this package
//	wrapper  a type of a program with a context in it, or a context of WithValue
//	foreign  a context of an unknown type with its own Done
package context

import std "context"

// The types of the standard package.
type (
	Context         = std.Context
	CancelFunc      = std.CancelFunc
	CancelCauseFunc = std.CancelCauseFunc
)
