package stream

// Before returns the number of an event such that at most n of the events that are kept come after it.
func (h *Hub) Before(n int) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(h.first, h.next-min(uint64(n), h.next)) - 1
}
