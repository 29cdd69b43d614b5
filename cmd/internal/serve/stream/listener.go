package stream

import "sync/atomic"

// A Listener gets the events of a Hub. One goroutine uses it.
type Listener struct {
	hub  *Hub
	kind string
	wake chan struct{} // has room for 1: the pump sends without blocking
	beat atomic.Bool   // set by the pump: Next returns also if there is nothing

	next uint64 // the number of the event that comes next
	told uint64 // the last number that the caller knows; 0 if it knows none
	more bool   // the last look did not reach the end

	index int // in Hub.listeners; the mutex of the Hub protects it
}

// A Gap is a range of numbers of events, both ends included. The zero Gap is empty.
// Restart says that the numbers begin before those of the Hub: they are of another process, and the difference
// of From and To does not count events.
type Gap struct {
	From, To uint64
	Restart  bool
}

// Position returns the number of the last event that the listener has got, or has passed over because of its
// kind. fresh says that the caller has not got this number yet: not from Listen, Next or Position.
func (l *Listener) Position() (id uint64, fresh bool) {
	id = l.next - 1
	fresh = id != l.told
	l.told = id
	return id, fresh
}

// Leave removes the listener.
func (l *Listener) Leave() {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	last := len(h.listeners) - 1
	h.listeners[l.index] = h.listeners[last]
	h.listeners[l.index].index = l.index
	h.listeners[last] = nil
	h.listeners = h.listeners[:last]
}
