package inspect

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// writeTimeout is how long a client may take to accept a snapshot before it is disconnected.
	writeTimeout = 10 * time.Second

	// retryAfter is how many milliseconds a client waits before it reconnects.
	retryAfter = 1000

	// lastID is the largest event number that a client may name. JavaScript counts exactly up to it.
	lastID = 1<<53 - 1
)

// A feed sends a snapshot to all listening clients at each interval. A goroutine takes the
// snapshots. It starts with the first listener and ends when there is none left.
type feed struct {
	source   source
	interval time.Duration
	limit    time.Duration // writeTimeout, less in tests

	mu        sync.Mutex
	listeners map[*listener]struct{}
	running   bool          // the goroutine exists
	wake      chan struct{} // interrupts the goroutine's pause. Has room for one
	last      []byte        // the latest snapshot while the goroutine exists; nil: none yet
}

// A listener is a client of the feed. It gets the latest snapshot, so a client that is slower than
// the feed misses some.
type listener struct {
	snapshots chan []byte // has room for one
}

func (f *feed) open(s source, interval time.Duration) {
	f.source, f.interval, f.limit = s, interval, writeTimeout
	f.listeners = map[*listener]struct{}{}
	f.wake = make(chan struct{}, 1)
}

// join adds a listener, and starts the goroutine if there is none.
func (f *feed) join() *listener {
	l := &listener{make(chan []byte, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listeners[l] = struct{}{}
	if f.last != nil {
		l.snapshots <- f.last
	}
	if !f.running {
		f.running = true
		select {
		case <-f.wake: // meant for the previous goroutine
		default:
		}
		go f.run()
	}
	return l
}

// leave removes a listener. After the last one it ends the goroutine.
func (f *feed) leave(l *listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.listeners, l)
	if len(f.listeners) == 0 {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
}

// run takes snapshots until no client listens.
func (f *feed) run() {
	pause := time.NewTicker(f.interval)
	defer pause.Stop()
	for f.publish() {
		select {
		case <-pause.C:
		case <-f.wake:
		}
	}
}

// publish takes a snapshot and passes it to the listeners. It returns false if there are none, in
// which case the goroutine ends.
func (f *feed) publish() bool {
	if !f.isHeard() {
		return false
	}
	snapshot, err := f.source.snapshot()
	if err != nil {
		snapshot = []byte(`{"error":"the snapshot cannot be encoded as JSON"}`)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = snapshot
	for l := range f.listeners {
		select {
		case <-l.snapshots: // the client did not fetch the previous one
		default:
		}
		l.snapshots <- snapshot
	}
	return true
}

// isHeard reports whether there are listeners. If not, the goroutine is about to end, and the next
// listener starts another one.
func (f *feed) isHeard() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.listeners) > 0 {
		return true
	}
	f.running = false
	f.last = nil
	return false
}

// serve sends snapshots to a client until its request ends or it fails to accept one in time.
func (f *feed) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // otherwise nginx holds events back until a buffer is full
	if r.Method == http.MethodHead {
		return
	}
	c := &client{
		w:       w,
		control: http.NewResponseController(w),
		limit:   f.limit,
		id:      nextID(r.Header.Get("Last-Event-ID")),
	}
	defer c.control.SetWriteDeadline(time.Time{}) // the server may reuse the connection
	if c.send("retry: "+strconv.Itoa(retryAfter)+"\n\n", nil) != nil {
		return
	}
	l := f.join()
	defer f.leave(l)
	for {
		select {
		case <-r.Context().Done():
			return
		case snapshot := <-l.snapshots:
			if c.send("id: "+strconv.FormatUint(c.id, 10)+"\ndata: ", snapshot) != nil {
				return
			}
			c.id++
		}
	}
}

// nextID returns the number of the first event for a client that names the last one it saw. Events
// are numbered for each client separately, so it does not matter which number another client sends.
func nextID(last string) uint64 {
	id, err := strconv.ParseUint(last, 10, 64)
	if err != nil || id >= lastID {
		return 1
	}
	return id + 1
}

// A client is a listener's connection.
type client struct {
	w       http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration // how long it may take to send an event
	id      uint64        // of the next event
}

// send sends a text, followed by a snapshot and the end of its event unless snapshot is nil.
func (c *client) send(text string, snapshot []byte) error {
	err := c.control.SetWriteDeadline(time.Now().Add(c.limit))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := c.w.Write([]byte(text)); err != nil {
		return err
	}
	if snapshot != nil {
		if _, err := c.w.Write(snapshot); err != nil {
			return err
		}
		if _, err := c.w.Write([]byte("\n\n")); err != nil {
			return err
		}
	}
	return c.control.Flush()
}
