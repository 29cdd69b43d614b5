package jetstream

import (
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// An index has what is known of each timer of a stream: what the consumer has delivered, and what this
// process has changed and the stream has acknowledged. It is a hint: a change is refused if the stream has
// a newer message for the ID. It is not safe for concurrent use.
type index struct {
	entries map[string]entry
	kinds   kinds
	deads   map[string]bool // the IDs that have a dead occurrence
	handled map[string]instance

	// consumed is the sequence up to which the consumer has delivered. newest is that of the newest message
	// that is known. gap is that of the last message before which the consumer has passed over others, which were
	// replaced or removed before.
	consumed, newest, gap uint64

	// generation is counted up when the stream is read again from its beginning. An entry with an older one
	// was not read yet.
	generation uint32

	// ended has outcomes of this process that the consumer has not delivered yet, the oldest first.
	// Their entries have the state None, so that older messages of their IDs are ignored.
	ended []endedID

	// recent and older have the sequences of outcomes by ID, so that an ID can be scheduled anew at the
	// first try. They are a cache.
	recent, older map[string]uint64

	pending int
}

type endedID struct {
	id  string
	seq uint64
}

// An entry takes 56 bytes.
type entry struct {
	seq        uint64
	at         int64
	rev        uint64
	every      int64
	rare       *rare  // nil for most timers
	bits       uint32 // the length of the payload times 16, plus hasDead times 8, plus the state
	kind       uint32
	generation uint32
	age        uint32 // see moves.Record.Age
}

// rare is what few timers have.
type rare struct {
	missed     uint64
	occurrence moves.Occurrence
	owner      instance
}

// A view is what the index knows of an ID.
type view struct {
	seq     uint64 // of the last message; 0: there is none, or it is an outcome that is forgotten
	record  moves.Record
	owner   instance
	hasDead bool
}

// recentMax is the number of outcomes after which the older ones are forgotten.
const recentMax = 1 << 15

// newIndex returns an index with memory for a number of messages.
func newIndex(messages int) *index {
	return &index{
		entries: make(map[string]entry, messages),
		deads:   make(map[string]bool),
		handled: make(map[string]instance),
		recent:  make(map[string]uint64),
	}
}

func (x *index) pack(v *view) entry {
	r := &v.record
	e := entry{
		seq: v.seq, at: r.At, rev: r.Rev, every: r.Every, generation: x.generation,
		bits: r.Payload<<4 | uint32(r.State), kind: x.kinds.number(r.Kind), age: r.Age(),
	}
	if v.hasDead {
		e.bits |= 8
	}
	if r.Missed != 0 || r.State.HasOccurrence() {
		e.rare = &rare{r.Missed, r.Occurrence, v.owner}
	}
	return e
}

func (x *index) unpack(e entry) view {
	v := view{seq: e.seq, hasDead: e.bits&8 != 0}
	v.record = moves.Record{
		State: moves.State(e.bits & 7), Kind: x.kinds.name(e.kind), Every: e.every, Payload: e.bits >> 4,
		At: e.at, Rev: e.rev, Series: e.rev - uint64(e.age),
	}
	if e.rare != nil {
		v.record.Missed, v.record.Occurrence, v.owner = e.rare.missed, e.rare.occurrence, e.rare.owner
	}
	return v
}

// view returns what is known of an ID.
func (x *index) view(id string) view {
	if e, ok := x.entries[id]; ok {
		return x.unpack(e)
	}
	if seq, ok := x.recent[id]; ok {
		return view{seq: seq}
	}
	return view{seq: x.older[id]}
}

// set stores a message of an ID, unless a newer one is known. It returns false then. consumed says that
// the consumer has delivered the message.
func (x *index) set(id string, v *view, consumed bool) bool {
	old, ok := x.entries[id]
	if ok && old.generation == x.generation && old.seq >= v.seq {
		if old.seq == v.seq && consumed {
			x.forget(id, old)
		}
		return false
	}
	if !consumed && v.seq <= x.consumed {
		return false // the consumer has delivered it, or what came after it
	}
	x.newest = max(x.newest, v.seq)
	x.count(old, -1)
	e := x.pack(v)
	x.count(e, 1)
	x.entries[id] = e
	if v.hasDead {
		x.deads[id] = true
	} else {
		delete(x.deads, id)
	}
	if v.record.State.IsHandling() {
		x.handled[id] = v.owner
	} else {
		delete(x.handled, id)
	}
	if consumed {
		x.forget(id, e)
	} else if e.isEnded() {
		x.ended = append(x.ended, endedID{id, v.seq})
	}
	return true
}

// isEnded reports whether an entry is an outcome and nothing else.
func (e entry) isEnded() bool { return e.bits&15 == uint32(moves.None) }

func (x *index) count(e entry, by int) {
	if moves.State(e.bits&7) != moves.None {
		x.pending += by
	}
}

// forget removes an entry that is an outcome, and that the consumer has passed.
func (x *index) forget(id string, e entry) {
	if !e.isEnded() {
		return
	}
	delete(x.entries, id)
	x.remember(id, e.seq)
}

// remember stores the sequence of an outcome.
func (x *index) remember(id string, seq uint64) {
	if len(x.recent) >= recentMax {
		x.older, x.recent = x.recent, make(map[string]uint64)
	}
	x.recent[id] = seq
}

// advance says that the consumer has delivered up to a sequence.
func (x *index) advance(seq uint64) {
	if seq <= x.consumed {
		return
	}
	if seq > x.consumed+1 {
		x.gap = seq
	}
	x.consumed = seq
	for len(x.ended) > 0 && x.ended[0].seq <= seq {
		o := x.ended[0]
		x.ended = x.ended[1:]
		if e, ok := x.entries[o.id]; ok && e.seq == o.seq {
			x.forget(o.id, e)
		}
	}
}

// drop removes what is known of an ID, if that is the message with a sequence.
func (x *index) drop(id string, seq uint64) bool {
	if x.recent[id] == seq {
		delete(x.recent, id)
	}
	if x.older[id] == seq {
		delete(x.older, id)
	}
	e, ok := x.entries[id]
	if !ok || e.seq != seq {
		return false
	}
	x.count(e, -1)
	delete(x.entries, id)
	delete(x.deads, id)
	delete(x.handled, id)
	return true
}

// restart begins a new generation: the consumer reads the stream again from its beginning.
func (x *index) restart() {
	x.generation++
	x.consumed, x.gap = 0, 0
	x.ended = nil
	x.recent, x.older = make(map[string]uint64), nil
}

// sweep removes the entries of older generations, and calls gone for each: the stream does not have them.
func (x *index) sweep(gone func(id string)) {
	for id, e := range x.entries {
		if e.generation != x.generation {
			x.drop(id, e.seq)
			gone(id)
		}
	}
}

// kinds numbers the kinds of timers.
type kinds struct {
	names   []string
	numbers map[string]uint32
	isNew   bool // there is one that the other processes were not told of
}

func (k *kinds) number(name string) uint32 {
	if n, ok := k.numbers[name]; ok {
		return n
	}
	if k.numbers == nil {
		k.numbers = make(map[string]uint32)
	}
	n := uint32(len(k.names))
	k.names = append(k.names, name)
	k.numbers[name] = n
	k.isNew = true
	return n
}

func (k *kinds) name(n uint32) string { return k.names[n] }
