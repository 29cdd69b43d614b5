package foliot

import (
	"time"
	"unsafe"
)

// aheadMax is how many entries are looked at together: about as many cache misses as a
// processor can have under way at a time.
const prefetchMax = 16

// ahead reads what the next callbacks and polls will need: the closures of the callbacks,
// the slots of the tasks and the structs behind them, the bells and their channels. Those
// are a cache miss or two each, one after the other if they are met while running; here
// those of sixteen entries overlap, and a poll among a million takes half the time. It
// returns how many entries it has seen. The caller holds the lock.
func (s *shard) prefetch() int {
	var buf [prefetchMax]*entry
	var user [prefetchMax]unsafe.Pointer
	var bells [prefetchMax]chan time.Time
	near := s.w.Ahead(buf[:0])
	sum := uint64(0)
	for i, b := range near {
		switch {
		case b.kind == kindChan:
			bells[i] = s.chanTimers.at(b.aux).channel()
			continue
		case b.kind == kindGoFunc:
			user[i] = pointer(b.callback())
			continue
		case b.kind != kindTask:
			user[i] = b.ptr
			continue
		}
		t := (*task)(b.ptr)
		sum += t.word.w.Load() + uint64(t.timer) // its first and its last word: it may span two lines
		user[i] = (*[2]unsafe.Pointer)(unsafe.Pointer(&t.body))[1]
	}
	for i := range near {
		sum += touch(user[i]) + uint64(len(bells[i]))
	}
	s.sink = sum
	return len(near)
}

const (
	pageSize = 4096 // or a multiple

	// glanceSpan is how far glance reaches: if a struct begins on one cache line and goes on
	// on the next, that is the one to fetch as well.
	touchSpan = 48
)

// glance reads what is found at a pointer of the user's, and nobody must rely on what it
// finds: the owner may be writing there. The pointer is that of a func or of the value in an
// interface, and held by the entry, so the first byte is the user's. The second may be
// that of a neighbour, and is there because the page is.
//
//go:norace
//go:nocheckptr
func touch(p unsafe.Pointer) uint64 {
	if p == nil || addressSanitizer {
		return 0
	}
	sum := *(*uint8)(p)
	if uintptr(p)%pageSize < pageSize-touchSpan {
		sum += *(*uint8)(unsafe.Add(p, touchSpan))
	}
	return uint64(sum)
}
