package stream

import "sync/atomic"

// A Listener gets the events of a Hub. One goroutine uses it.
type Listener struct {
	hub  *Hub
	kind string
	wake chan struct{} // has room for 1: the pump sends without blocking
	beat atomic.Bool   // set by the pump: Next returns also if there is nothing

	next uint64 // the number of the event that comes next
	more bool   // the last look did not reach the end

	index int // in Hub.listeners; the mutex of the Hub protects it
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
