package engine

import (
	"unsafe"

	"github.com/foliot-go/foliot/wheel"
)

// An entry is the value that the wheel keeps for a timer. With it, a slot of the wheel has 32
// bytes. It is protected by the lock of the shard.
type entry struct {
	// ptr depends on kind:
	//
	//	kindFunc, kindInternal, kindBrief   the callback, a func(), which is a pointer
	//	kindContext                         the same
	//	kindEvery                           the *repeat that holds the callback
	//	kindGoFunc                          the *GoFunc that holds the callback
	//	kindChan                            nil
	//	kindItem                            the item, see Source
	ptr unsafe.Pointer

	// aux depends on kind and state. The first line that applies counts:
	//
	//	kindChan, any state            the index of its chanTimer in chanTimers
	//	kindGoFunc                     no meaning: its GoFunc has the deadline
	//	stateRunningDue                the low 32 bits of the tick at which it came due
	//	armed, on a manual clock       the sequence number of the arming, see nextSeq
	//	armed, kindItem                0
	//	armed, in an ordered engine    0
	//	armed                          the offset: the deadline, in ticks, minus the tick at
	//	                               which the entry is filed in the wheel
	//	not armed                      no meaning
	//
	// A Reset to a later deadline only changes the offset, see postpone, and leaves the entry
	// at its tick in the wheel. The entry is moved when that tick comes, or when updateNext
	// finds it.
	aux     uint32
	auxHigh uint16 // in stateRunningDue: the 16 bits above those in aux. Otherwise no meaning
	role
}

// A role has two fields of an entry. The compiler keeps a struct with up to four fields in
// registers. It would copy an entry with five fields by way of the stack, where the processor cannot
// read a word before the stores of its parts are complete.
type role struct {
	state state
	kind  kind
}

// A kind says what a timer does when it fires, see popLocked.
type kind uint8

const (
	kindFunc     kind = iota // runs a callback of the user, on the worker or by Config.Go
	kindInternal             // like kindBrief, but not counted by Stats and Config.MaxTimers
	kindBrief                // runs a callback that does not block and is not the user's, on the worker
	kindContext              // like kindBrief; Shutdown calls the callback, too, see deadline.go
	kindEvery                // like kindFunc, and arms itself again, see every.go
	kindGoFunc               // starts a goroutine for its callback, as time.AfterFunc does
	kindChan                 // sends on a channel, see chantimer.go
	kindItem                 // makes an item of the Source ready. Its state is stateIdle or stateArmed
)

// callback returns the function that the timer calls when it fires.
func (b *entry) callback() func() {
	switch b.kind {
	case kindGoFunc:
		return (*GoFunc)(b.ptr).F.Func()
	case kindEvery:
		return (*repeat)(b.ptr).f
	}
	return *(*func())(unsafe.Pointer(&b.ptr))
}

// pointer returns a func as the pointer that it is, for entry.ptr.
func pointer(f func()) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&f))
}

// nextSeq returns entry.aux for a new arming: the next sequence number on a manual clock,
// otherwise 0.
func (eng *Engine) nextSeq() uint32 {
	if eng.manual == nil {
		return 0
	}
	return eng.manual.seq.Add(1)
}

// setSeq gives a new arming its sequence number on a manual clock. It also records that the entry
// is filed at its tick. The caller holds the lock.
func (s *Shard) setSeq(b *entry) {
	switch {
	case b.kind != kindChan:
		b.aux = s.eng.nextSeq()
	case s.eng.manual != nil:
		s.chans.at(b.aux).mark = int64(s.eng.nextSeq())
	}
}

// seq returns the sequence number of an arming on a manual clock. The caller holds the lock.
func (s *Shard) seq(b *entry) uint32 {
	if b.kind == kindChan {
		return uint32(s.chans.at(b.aux).mark)
	}
	return b.aux
}

// postpone records in the entry a deadline that is not before the tick at which the entry is
// filed, and leaves the wheel alone. It returns false if the entry must be moved instead.
//
// A postponed entry is moved to its tick later, and then comes after entries that were armed
// for that tick after it. So an ordered engine postpones nothing.
func (s *Shard) postpone(b *entry, filed, at wheel.Tick) bool {
	if s.eng.ordered || at < filed || at-filed >= 1<<32 {
		return false
	}
	if b.kind != kindChan { // its deadline is in its chanTimer
		b.aux = uint32(at - filed)
	}
	return true
}

// dueAt returns the tick for which an entry is armed: the tick at which it is filed, or a
// later one if it was postponed.
func (s *Shard) dueAt(b *entry, filed wheel.Tick) wheel.Tick {
	switch {
	case s.eng.ordered:
		return filed
	case b.kind == kindChan:
		return max(filed, s.eng.Ceil(s.chans.at(b.aux).due))
	case b.kind == kindGoFunc:
		return max(filed, (*GoFunc)(b.ptr).due)
	}
	return filed + wheel.Tick(b.aux)
}

// clearOffset records that an entry is filed at the tick for which it is armed.
func (b *entry) clearOffset() {
	if b.kind != kindChan {
		b.aux = 0
	}
}

// wasDue returns the tick at which a timer in stateRunningDue came due. The entry holds the low
// 48 bits of it. The rest follows from the present of the wheel, which is not before that tick
// and less than 2^48 ticks after it.
func (s *Shard) wasDue(b *entry) wheel.Tick {
	now := uint64(s.w.Now())
	due := uint64(b.auxHigh)<<32 | uint64(b.aux)
	return wheel.Tick(now - (now-due)&(1<<48-1))
}
