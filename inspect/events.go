package inspect

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// writeTimeout is how long a client may take to accept a picture. One that takes longer is
	// disconnected.
	writeTimeout = 10 * time.Second

	// retryAfter is how many milliseconds a client waits before it connects again.
	retryAfter = 1000

	// lastID is the largest number of an event that a client may name. JavaScript counts exactly up
	// to it.
	lastID = 1<<53 - 1
)

// A feed makes a picture each interval while clients listen, and gives it to all of them. A goroutine
// makes the pictures. It starts with the first listener and ends when there is none.
type feed struct {
	source   source
	interval time.Duration
	limit    time.Duration // writeTimeout, less in tests

	mu        sync.Mutex
	listeners map[*listener]struct{}
	running   bool          // the goroutine runs
	wake      chan struct{} // ends the pause of the goroutine. Has room for one
	last      []byte        // the latest picture, while the goroutine runs; nil: there is none yet
}

// A listener is a client of the feed. It gets the latest picture: a client that is slower than the
// feed misses some.
type listener struct {
	pictures chan []byte // has room for one
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
		l.pictures <- f.last
	}
	if !f.running {
		f.running = true
		select {
		case <-f.wake: // meant for the goroutine before
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

// run makes pictures until no client listens.
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

// publish makes a picture and gives it to the listeners. It returns false if there are none: then
// the goroutine ends.
func (f *feed) publish() bool {
	if !f.isHeard() {
		return false
	}
	picture, err := f.source.picture()
	if err != nil {
		picture = []byte(`{"error":"there is no JSON of the picture"}`)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = picture
	for l := range f.listeners {
		select {
		case <-l.pictures: // the client has not fetched the one before
		default:
		}
		l.pictures <- picture
	}
	return true
}

// isHeard reports whether there are listeners. If not, it ends the role of the goroutine.
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

// serve sends pictures to a client until its request ends or it does not accept them in time.
func (f *feed) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // else nginx holds events back until a buffer is full
	if r.Method == http.MethodHead {
		return
	}
	c := &client{
		w:       w,
		control: http.NewResponseController(w),
		limit:   f.limit,
		id:      nextID(r.Header.Get("Last-Event-ID")),
	}
	defer c.control.SetWriteDeadline(time.Time{}) // the server may use the connection again
	if c.send("retry: "+strconv.Itoa(retryAfter)+"\n\n", nil) != nil {
		return
	}
	l := f.join()
	defer f.leave(l)
	for {
		select {
		case <-r.Context().Done():
			return
		case picture := <-l.pictures:
			if c.send("id: "+strconv.FormatUint(c.id, 10)+"\ndata: ", picture) != nil {
				return
			}
			c.id++
		}
	}
}

// nextID returns the number of the first event for a client that names the last one that it has seen.
// A client counts its own events, so that what another one sends as its number does not matter.
func nextID(last string) uint64 {
	id, err := strconv.ParseUint(last, 10, 64)
	if err != nil || id >= lastID {
		return 1
	}
	return id + 1
}

// A client is the connection of a listener.
type client struct {
	w       http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration // how long it may take to send an event
	id      uint64        // of the next event
}

// send sends a text, and a picture with the end of its event unless it is nil.
func (c *client) send(text string, picture []byte) error {
	err := c.control.SetWriteDeadline(time.Now().Add(c.limit))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := c.w.Write([]byte(text)); err != nil {
		return err
	}
	if picture != nil {
		if _, err := c.w.Write(picture); err != nil {
			return err
		}
		if _, err := c.w.Write([]byte("\n\n")); err != nil {
			return err
		}
	}
	return c.control.Flush()
}
