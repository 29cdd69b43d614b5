// Package stream hands events to many listeners. It keeps the last ones, so that a listener that comes back
// gets what it has missed. A listener that is slow misses events; it never holds up the program that
// publishes them.
package stream

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Options bound a Hub. All fields must be set.
type Options struct {
	Keep      int           // events that are kept
	KeepBytes int           // and how many bytes of them
	Listeners int           // how many there may be
	Beat      time.Duration // how often Next returns to a listener for which there is nothing
}

// A Hub has events and listeners. Its methods may be called from any goroutine.
//
// Events have numbers that only grow. The first number is the time at which the Hub was made, in
// microseconds. So the numbers of one process are greater than those of the process before it, as long as
// that has published fewer than a million events a second.
type Hub struct {
	opts   Options
	wake   chan struct{} // has room for 1: there is something for the pump
	closed chan struct{}

	mu        sync.Mutex // protects what follows; held for a bounded number of steps
	ring      []event    // of Keep; event n is at n % Keep
	began     uint64     // the first number; 0 if events get their numbers elsewhere
	first     uint64     // the oldest event that is kept
	next      uint64     // the number of the next event
	bytes     int
	listeners []*Listener
}

type event struct {
	kind  string
	frame []byte // shared by all listeners; not changed
}

// Errors of Listen and Next.
var (
	ErrFull   = errors.New("there are too many listeners")
	ErrClosed = errors.New("the stream has ended")
)

// New returns a Hub. Close must be called at the end.
func New(o Options) *Hub {
	first := uint64(time.Now().UnixMicro())
	h := &Hub{
		opts: o, wake: make(chan struct{}, 1), closed: make(chan struct{}),
		ring: make([]event, o.Keep), began: first, first: first, next: first,
	}
	go h.pump()
	return h
}

// Close ends all listeners.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.closed:
	default:
		close(h.closed)
	}
}

// Publish adds an event. frame returns what listeners get, by the number of the event.
func (h *Hub) Publish(kind string, frame func(id uint64) []byte) {
	h.mu.Lock()
	h.add(event{kind, frame(h.next)})
	h.mu.Unlock()
}

// add adds the next event and wakes the pump. The caller holds mu.
func (h *Hub) add(e event) {
	if h.next-h.first == uint64(len(h.ring)) {
		h.forget()
	}
	h.ring[h.next%uint64(len(h.ring))] = e
	h.next++
	for h.bytes += len(e.frame); h.bytes > h.opts.KeepBytes && h.next-h.first > 1; {
		h.forget()
	}
	if len(h.listeners) > 0 {
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
}

// forget removes the oldest event. The caller holds mu.
func (h *Hub) forget() {
	e := &h.ring[h.first%uint64(len(h.ring))]
	h.bytes -= len(e.frame)
	*e = event{}
	h.first++
}

// Listeners returns the number of listeners.
func (h *Hub) Listeners() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.listeners)
}

const (
	// pumpChunk is how many listeners the pump wakes at a time, and pumpPause how long it waits then. Ten
	// thousand goroutines that become ready at once would delay all others, timers included.
	pumpChunk = 16
	pumpPause = time.Millisecond
)

// pump wakes the listeners when there are events, and at each beat.
func (h *Hub) pump() {
	beat := time.NewTicker(h.opts.Beat)
	defer beat.Stop()
	var all []*Listener
	for {
		var signal func(l *Listener)
		select {
		case <-h.closed:
			return
		case <-h.wake:
			signal = func(l *Listener) {}
		case <-beat.C:
			signal = func(l *Listener) { l.beat.Store(true) }
		}
		h.mu.Lock()
		all = append(all[:0], h.listeners...)
		h.mu.Unlock()
		for i, l := range all {
			if i > 0 && i%pumpChunk == 0 {
				time.Sleep(pumpPause)
			}
			signal(l)
			select {
			case l.wake <- struct{}{}:
			default:
			}
		}
		clear(all) // a listener that has left can be collected
	}
}

// Listen adds a listener for events of a kind, or for all if kind is empty. If resume is true, it begins
// after the event with the number after; with 0 it begins with the oldest event that is kept. Otherwise it
// begins with the next event. The caller must call Leave.
//
// A number that this Hub has not given out yet is of another process whose clock was ahead. What came after
// it is not known, so the listener has missed all events before the oldest one.
func (h *Hub) Listen(kind string, after uint64, resume bool) (*Listener, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.closed:
		return nil, ErrClosed
	default:
	}
	if len(h.listeners) >= h.opts.Listeners {
		return nil, ErrFull
	}
	l := &Listener{hub: h, kind: kind, wake: make(chan struct{}, 1), next: h.next, index: len(h.listeners)}
	switch {
	case !resume:
	case after == 0:
		l.next = h.first
	case after >= h.next:
		l.next = 1
	default:
		l.next = after + 1
	}
	if resume {
		l.told = l.next - 1
	}
	l.wake <- struct{}{}
	h.listeners = append(h.listeners, l)
	return l, nil
}

// take returns up to max of the events that come next, and those before them that are not kept.
func (l *Listener) take(max int) (frames [][]byte, missed Gap) {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.next < h.first {
		missed = Gap{l.next, h.first - 1, l.next < h.began}
		l.next, l.told = h.first, missed.To
	}
	for looked := 0; l.next < h.next && len(frames) < max && looked < lookMax; looked++ {
		e := &h.ring[l.next%uint64(len(h.ring))]
		if l.kind == "" || e.kind == l.kind {
			frames = append(frames, e.frame)
			l.told = l.next
		}
		l.next++
	}
	l.more = l.next < h.next
	return frames, missed
}

const (
	lookMax = 512 // events that a listener looks at while it holds the mutex
	takeMax = 64  // events that Next returns
)

// Next waits for events, and returns some. missed is where there were others before them that are not kept
// any more. Without events it returns after Options.Beat, so that the caller can find out whether its reader
// is still there. It returns ErrClosed after Close, and the error of ctx when that ends.
func (l *Listener) Next(ctx context.Context) (frames [][]byte, missed Gap, err error) {
	for {
		if !l.more {
			select {
			case <-l.wake:
			case <-ctx.Done():
				return nil, Gap{}, ctx.Err()
			case <-l.hub.closed:
				if frames, missed = l.take(takeMax); len(frames) > 0 {
					return frames, missed, nil
				}
				return nil, Gap{}, ErrClosed
			}
		}
		beat := l.beat.Swap(false)
		if frames, missed = l.take(takeMax); len(frames) > 0 || missed != (Gap{}) || beat {
			return frames, missed, nil
		}
	}
}
