package context

import (
	std "context"
	"reflect"
	"sync/atomic"
	"weak"
)

// A relay notifies the contexts in its list when a standard context ends.
//
// Each context could register an AfterFunc of its own, but registering and stopping it is half the
// cost of a context whose Done channel is used. A standard context with many such contexts below it
// gets a relay instead, which needs a single AfterFunc until the standard context ends.
//
// The AfterFunc keeps the relay alive. The table of relays holds weak pointers, so a relay is
// collected together with its standard context.
type relay struct {
	node    node        // for its list and its end. Its phase is idle until source ends
	source  Context     // set on creation
	unwatch func() bool // undoes the AfterFunc. Set on creation
	kept    bool        // the relay is in the table. Under node.mu
}

// relayAfter is how many contexts below one standard context register an AfterFunc before it gets a
// relay. A relay costs more than an AfterFunc: a weak pointer, and a goroutine when the standard
// context ends.
const relayAfter = 8

// A relaySlot is an entry of the table of relays, shared by standard contexts with the same hash.
type relaySlot struct {
	relay atomic.Pointer[weak.Pointer[relay]] // nil: none

	// watches is the address of the last standard context without a relay, times 256, plus how many
	// calls to watch in a row were for it. It need not be exact: goroutines may overwrite each
	// other's counts, and a new context may have the address of a collected one.
	watches atomic.Uint64

	_ [48]byte // fills a cache line
}

const relayBits = 8

var relays [1 << relayBits]relaySlot

// findRelaySlot returns a standard context's slot in the table, and its address.
func findRelaySlot(source Context) (slot *relaySlot, address uint64) {
	address = uint64(reflect.ValueOf(source).Pointer())
	return &relays[address*0x9e3779b97f4a7c15>>(64-relayBits)], address
}

// findRelay returns a standard context's relay, creating it if enough contexts have asked for it.
// Otherwise it returns nil.
func findRelay(source Context) *relay {
	slot, address := findRelaySlot(source)
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

// newRelay creates a relay and puts it into the slot, in place of the one that is there.
func (slot *relaySlot) newRelay(source Context) *relay {
	r := &relay{source: source, kept: true}
	r.unwatch = std.AfterFunc(source, func() { r.node.finish(endReason(source)) })
	w := weak.Make(r)
	if old := slot.relay.Swap(&w); old != nil {
		if o := old.Value(); o != nil {
			o.drop()
		}
	}
	return r
}

// add adds a context to the list, unless it has ended or is watched already. It returns false if
// the relay has ended or is no longer in the table.
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

// remove removes a context from the list.
func (r *relay) remove(c *timerCtx) {
	r.node.mu.Lock()
	c.unlink()
	unused := !r.kept && r.node.children == nil
	r.node.mu.Unlock()
	if unused {
		r.unwatch()
	}
}

// drop is called when the relay has lost its slot in the table. The AfterFunc is undone as soon as
// the list is empty, here or in remove.
func (r *relay) drop() {
	r.node.mu.Lock()
	r.kept = false
	unused := r.node.children == nil
	r.node.mu.Unlock()
	if unused {
		r.unwatch()
	}
}
