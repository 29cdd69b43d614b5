package context

import (
	std "context"
	"reflect"
	"sync/atomic"
	"weak"
)

// A relay tells the contexts in its list that a standard context has ended.
//
// Each of them can have an AfterFunc instead. But to make and to stop one takes as long as half
// of all that is done for a context that is waited for. So a standard context below which many are
// waited for gets a relay, which has one AfterFunc until the standard context ends.
//
// The AfterFunc keeps the relay in memory. The table of relays has weak pointers, so a relay is
// collected together with its standard context.
type relay struct {
	node    node        // for its list and its end. The phase is idle or ended
	source  Context     // set when it is made
	unwatch func() bool // undoes the AfterFunc. Set when it is made
	kept    bool        // it is in the table. Under node.mu
}

// relayAfter is how many contexts below one standard context have an AfterFunc before it gets a
// relay. A relay costs more than an AfterFunc: its weak pointer, and the goroutine at the end of
// the standard context.
const relayAfter = 8

// A relaySlot is a place in the table of relays, for standard contexts with the same hash.
type relaySlot struct {
	relay atomic.Pointer[weak.Pointer[relay]] // nil: there is none

	// watches is the address of the last standard context without a relay, times 256, and how many
	// calls of watch in a row were for it. It need not be exact: goroutines may overwrite the counts of
	// each other, and a new context may have the address of a collected one.
	watches atomic.Uint64

	_ [48]byte // fills a cache line
}

const relayBits = 8

var relays [1 << relayBits]relaySlot

// relaySlotOf returns the place of a standard context in the table, and its address.
func relaySlotOf(source Context) (slot *relaySlot, address uint64) {
	address = uint64(reflect.ValueOf(source).Pointer())
	return &relays[address*0x9e3779b97f4a7c15>>(64-relayBits)], address
}

// relayOf returns the relay of a standard context. It returns nil if there is none and it is too
// early to make one.
func relayOf(source Context) *relay {
	slot, address := relaySlotOf(source)
	if w := slot.relay.Load(); w != nil {
		if r := w.Value(); r != nil && r.source == source {
			return r
		}
	}
	watches := slot.watches.Load()
	if watches&^0xff != address<<8 {
		watches = address << 8
	}
	watches++
	slot.watches.Store(watches)
	if watches&0xff <= relayAfter {
		return nil
	}
	slot.watches.Store(0)
	return slot.newRelay(source)
}

// newRelay makes a relay in the place of another one.
func (slot *relaySlot) newRelay(source Context) *relay {
	r := &relay{source: source, kept: true}
	r.unwatch = std.AfterFunc(source, func() { r.node.finish(reasonOf(source)) })
	w := weak.Make(r)
	if old := slot.relay.Swap(&w); old != nil {
		if o := old.Value(); o != nil {
			o.drop()
		}
	}
	return r
}

// add puts a context into the list, unless it has ended or is watched. It returns false if the
// relay has ended or is not in the table any more.
func (r *relay) add(c *timerCtx) bool {
	r.node.mu.Lock()
	defer r.node.mu.Unlock()
	if !r.kept || r.node.isEnding() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.relay == nil && c.unwatch == nil && !c.isEnding() {
		c.link(&r.node)
		c.relay = r
	}
	return true
}

// remove takes a context out of the list.
func (r *relay) remove(c *timerCtx) {
	r.node.mu.Lock()
	c.unlink()
	unused := !r.kept && r.node.first == nil
	r.node.mu.Unlock()
	if unused {
		r.unwatch()
	}
}

// drop is called when the relay is not in the table any more. It undoes the AfterFunc as soon as the
// list is empty.
func (r *relay) drop() {
	r.node.mu.Lock()
	r.kept = false
	unused := r.node.first == nil
	r.node.mu.Unlock()
	if unused {
		r.unwatch()
	}
}
