package stream

import (
	"context"
	"time"
)

// A Hub that is fed from elsewhere gets events that have numbers already: by Skip and Put instead of Publish.
// Each goroutine that feeds it has events in the order of their numbers. Several may have the same events.

// Skip makes the next event the one with a number. Listeners miss those before it that the Hub does not have.
func (h *Hub) Skip(to uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.skip(to)
}

// skip removes all events, because those that are kept have numbers in a row. The caller holds mu.
func (h *Hub) skip(to uint64) {
	for h.first < h.next {
		h.forget()
	}
	h.began, h.first, h.next = 0, to, to
}

// NextID returns the number of the event that comes next.
func (h *Hub) NextID() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.next
}

// Put adds an event with its number. If numbers before it are missing, the Hub forgets all that came before
// them. It leaves out an event that it has.
func (h *Hub) Put(id uint64, kind string, frame []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if id < h.next {
		return
	}
	if id > h.next {
		h.skip(id)
	}
	h.add(event{kind, frame})
}

// Reach returns nil when the Hub has the event with a number, or one after it.
func (h *Hub) Reach(ctx context.Context, id uint64) error {
	const look = 5 * time.Millisecond
	for tick := time.NewTicker(look); ; {
		h.mu.Lock()
		reached := h.next > id
		h.mu.Unlock()
		if reached {
			tick.Stop()
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return ctx.Err()
		}
	}
}
