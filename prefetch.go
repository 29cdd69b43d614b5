package foliot

import (
	"time"
	"unsafe"
)

// prefetchMax is how many entries are read together: about as many cache misses as a
// processor can have in flight.
const prefetchMax = 16

// prefetch reads what the next callbacks and polls will need: the closures of callbacks,
// the slots of tasks and the structs behind them, the channels of channel timers. Each is a
// cache miss or two. Without prefetch they come one after the other while callbacks run.
// Here those of sixteen entries overlap, and a poll among a million tasks takes half the
// time. prefetch returns how many entries it has read. The caller holds the lock.
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
		sum += t.word.w.Load() + uint64(t.timer) // the first and the last word: the slot may span two cache lines
		user[i] = (*[2]unsafe.Pointer)(unsafe.Pointer(&t.body))[1]
	}
	for i := range near {
		sum += touch(user[i]) + uint64(len(bells[i]))
	}
	s.sink = sum
	return len(near)
}

const (
	pageSize = 4096 // the real page size is this or a multiple

	// touchSpan is the distance of the second byte that touch reads. A struct that begins
	// near the end of a cache line continues on the next one, which this fetches too.
	touchSpan = 48
)

// touch reads one or two bytes at a pointer of the user's. The result means nothing: the
// owner may be writing there at the same time. The pointer is that of a func or of the value in
// an interface. The entry holds it, so the first byte is valid memory. The second byte may
// belong to another object; it is on the same page, so it can be read.
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
