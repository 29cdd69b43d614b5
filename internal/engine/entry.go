package engine

import "unsafe"

// An entry is the value that the wheel holds for a timer. With it, a wheel slot takes 32 bytes. It is
// protected by the shard's lock.
type entry struct {
	// ptr depends on the kind:
	//
	//	kindFunc, kindOwn, kindContext, kindQueue   the callback, a func(), which is a pointer
	//	kindEvery, kindTick                         the *repeat that holds the callback
	//	kindGoFunc                                  the *GoFunc that holds the callback
	//	kindTask                                    the *task
	ptr unsafe.Pointer

	// aux depends on the kind and the state. The first line that applies counts:
	//
	//	kindGoFunc                     nothing: its GoFunc holds the deadline
	//	armed, on a manual clock       the sequence number of the arming (see nextSeq)
	//	armed, in an ordered engine    0
	//	armed                          the offset: the deadline, in ticks, minus the tick at
	//	                               which the entry is filed in the wheel
	//	not armed                      nothing
	//
	// A Reset to a later deadline only changes the offset (see postpone) and leaves the entry at
	// its tick in the wheel. The entry is moved when that tick comes, or when updateNext finds it.
	aux uint32
	role
}

// A role groups two fields of an entry. The compiler keeps structs of up to four fields in registers.
// It would copy a larger entry through the stack, where the processor cannot load a word before the
// stores of its parts complete.
type role struct {
	state state
	kind  kind
}

// A kind determines what a timer does when it expires (see Shard.expire).
type kind uint8

const (
	kindFunc    kind = iota // runs a user callback, on the worker or through Config.Go
	kindEvery               // like kindFunc, and arms its next tick (see repeat)
	kindTick                // like kindOwn, and arms its next tick (see chan.go)
	kindGoFunc              // starts a goroutine for its callback, as time.AfterFunc does
	kindOwn                 // runs a callback of the library's, which does not block, on the worker
	kindContext             // like kindOwn, but may take long; Shutdown also calls it (see wait.go)
	kindQueue               // like kindOwn, but not counted by Stats and Config.MaxTimers
	kindTask                // makes a task ready; its state is always stateIdle or stateArmed
)

// callback returns the function that the timer calls when it expires. A task's timer has none.
func (e *entry) callback() func() {
	switch e.kind {
	case kindGoFunc:
		return (*GoFunc)(e.ptr).F.Func()
	case kindEvery, kindTick:
		return (*repeat)(e.ptr).f
	}
	return *(*func())(unsafe.Pointer(&e.ptr))
}

// pointer returns f, which is represented as a pointer, for entry.ptr.
func pointer(f func()) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&f))
}

// nextSeq returns entry.aux for a new arming: the next sequence number on a manual clock, and 0
// otherwise, because the entry is filed at its deadline.
func (eng *Engine) nextSeq() uint32 {
	if eng.manual == nil {
		return 0
	}
	return eng.manual.seq.Add(1)
}
