package engine

import (
	"time"
	"unsafe"
)

// prefetchMax is how many entries are read together: about as many cache misses as a
// processor can have in flight.
const prefetchMax = 16

// prefetch reads what the next callbacks and items will need: the closures of callbacks, the
// items of the Source, the channels of channel timers. Each is a cache miss or two. Without
// prefetch they come one after the other while callbacks run. Here those of sixteen entries
// overlap, and an item among a million takes half the time. prefetch returns how many entries
// it has read. The caller holds the lock.
func (s *Shard) prefetch() int {
	var buf [prefetchMax]*entry
	var user [prefetchMax]unsafe.Pointer
	var chans [prefetchMax]chan time.Time
	ahead := s.w.Ahead(buf[:0])
	for i, b := range ahead {
		switch b.kind {
		case kindItem:
			s.ahead = append(s.ahead, b.ptr)
		case kindChan:
			chans[i] = s.chans.at(b.aux).channel()
		case kindGoFunc:
			user[i] = pointer(b.callback())
		default:
			user[i] = b.ptr
		}
	}
	if len(s.ahead) > 0 {
		s.source.Prefetch(s.ahead)
		clear(s.ahead)
		s.ahead = s.ahead[:0]
	}
	sum := uint64(0)
	for i := range ahead {
		sum += Touch(user[i]) + uint64(len(chans[i]))
	}
	s.sink += sum
	return len(ahead)
}

const (
	pageSize = 4096 // the real page size is this or a multiple

	// touchSpan is the distance of the second byte that Touch reads. A struct that begins
	// near the end of a cache line continues on the next one, which this fetches too.
	touchSpan = 48
)

// Touch reads one or two bytes at a pointer to memory of the user. The result means nothing: the
// owner may be writing there at the same time. The pointer is that of a func or of the value in
// an interface. The entry holds it, so the first byte is valid memory. The second byte may
// belong to another object; it is on the same page, so it can be read.
//
//go:norace
//go:nocheckptr
func Touch(p unsafe.Pointer) uint64 {
	if p == nil || addressSanitizer {
		return 0
	}
	sum := *(*uint8)(p)
	if uintptr(p)%pageSize < pageSize-touchSpan {
		sum += *(*uint8)(unsafe.Add(p, touchSpan))
	}
	return uint64(sum)
}
