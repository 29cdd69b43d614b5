package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// The clients and receivers of the scenario serve write and read HTTP/1.1 by themselves, on connections that stay open. They
// run on the processors that the server needs, and those of net/http would take as much time as the server.

// An httpClient is one connection to a server. One goroutine at a time uses it.
type httpClient struct {
	conn net.Conn
	r    *bufio.Reader
	host string
	buf  []byte // of the request
}

func dialHTTP(host string) (*httpClient, error) {
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	return &httpClient{conn: conn, r: bufio.NewReader(conn), host: host}, nil
}

// httpPatience is how long a server may take for a response.
const httpPatience = time.Minute

// do sends a request with a body of JSON and waits for the response. It returns an error unless the status is want.
func (c *httpClient) do(method, path string, body []byte, want int) error {
	b := append(c.buf[:0], method...)
	b = append(append(b, ' '), path...)
	b = append(append(b, " HTTP/1.1\r\nHost: "...), c.host...)
	b = append(b, "\r\nContent-Type: application/json\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	b = append(append(b, "\r\n\r\n"...), body...)
	c.buf = b
	if err := c.conn.SetDeadline(time.Now().Add(httpPatience)); err != nil {
		return err
	}
	if _, err := c.conn.Write(b); err != nil {
		return err
	}
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if len(line) < len("HTTP/1.1 200") {
		return fmt.Errorf("%q is not a response", line)
	}
	status, err := strconv.Atoi(string(line[9:12]))
	if err != nil {
		return fmt.Errorf("%q is not a response", line)
	}
	length, err := readHeader(c.r)
	switch {
	case err != nil:
		return err
	case length == chunked:
		_, err = io.Copy(io.Discard, httputil.NewChunkedReader(c.r))
		if err == nil {
			_, err = readHeader(c.r) // of the trailer, which is empty
		}
	case status == want:
		_, err = c.r.Discard(length)
	default:
		text, _ := io.ReadAll(io.LimitReader(c.r, int64(length)))
		return fmt.Errorf("%s %s: status %d: %s", method, path, status, text)
	}
	if err == nil && status != want {
		err = fmt.Errorf("%s %s: status %d", method, path, status)
	}
	return err
}

func (c *httpClient) close() { _ = c.conn.Close() }

// chunked is the length of a body that comes in chunks.
const chunked = -1

// readHeader reads the lines of a header after the first one, and returns the length of the body.
func readHeader(r *bufio.Reader) (length int, err error) {
	const name, chunks = "content-length:", "transfer-encoding: chunked"
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return length, nil
		}
		if bytes.EqualFold(line, []byte(chunks)) {
			length = chunked
		}
		if len(line) > len(name) && bytes.EqualFold(line[:len(name)], []byte(name)) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(name):]))); err != nil {
				return 0, err
			}
		}
	}
}

// hookReceivers are servers that get webhooks. The path of a webhook is the ID of its timer. They note when it arrives, and
// respond at once.
type hookReceivers struct {
	listeners []net.Listener
	log       atomic.Pointer[hookLog] // what is noted now
	hangs     atomic.Bool             // the first receiver does not respond any more
	closed    chan struct{}
	serving   sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool // that are open; nil after close
}

// receiverCount is how many receivers there are. A server of Foliot sends a share of its webhooks only to one host.
const receiverCount = 10

func startReceivers() (*hookReceivers, error) {
	h := &hookReceivers{closed: make(chan struct{}), conns: make(map[net.Conn]bool)}
	for i := range receiverCount {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			h.close()
			return nil, err
		}
		h.listeners = append(h.listeners, ln)
		h.serving.Go(func() { h.accept(ln, i == 0) })
	}
	return h, nil
}

// url returns the address of the webhook of a timer.
func (h *hookReceivers) url(i int) string {
	return "http://" + h.listeners[i%len(h.listeners)].Addr().String() + "/" + orderID(i)
}

// hung reports whether the webhook of a timer gets no response.
func (h *hookReceivers) hung(i int) bool { return h.hangs.Load() && i%len(h.listeners) == 0 }

func (h *hookReceivers) accept(ln net.Listener, first bool) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		h.mu.Lock()
		if h.conns == nil {
			_ = conn.Close()
		} else {
			h.conns[conn] = true
			h.serving.Go(func() {
				h.serve(conn, first)
				_ = conn.Close()
				h.mu.Lock()
				delete(h.conns, conn)
				h.mu.Unlock()
			})
		}
		h.mu.Unlock()
	}
}

// hookResponse is what receivers respond.
var hookResponse = []byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

// serve responds to the webhooks of a connection until it is closed.
func (h *hookReceivers) serve(conn net.Conn, first bool) {
	r := bufio.NewReader(conn)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		now := time.Now()
		_, rest, _ := bytes.Cut(line, []byte("/"))
		id, _, _ := bytes.Cut(rest, []byte(" "))
		i := orderNumber(string(id))
		length, err := readHeader(r)
		if err != nil {
			return
		}
		if _, err := r.Discard(length); err != nil {
			return
		}
		if first && h.hangs.Load() {
			<-h.closed
			return
		}
		if log := h.log.Load(); log != nil {
			log.add(i, now)
		}
		if _, err := conn.Write(hookResponse); err != nil {
			return
		}
	}
}

// close closes all connections and waits until nothing runs.
func (h *hookReceivers) close() {
	close(h.closed)
	for _, ln := range h.listeners {
		_ = ln.Close()
	}
	h.mu.Lock()
	for conn := range h.conns {
		_ = conn.Close()
	}
	h.conns = nil
	h.mu.Unlock()
	h.serving.Wait()
}

// A hookLog has the arrivals of the webhooks of a round.
type hookLog struct {
	first   int            // the number of the first timer
	arrived []atomic.Int64 // by timer: nanoseconds since 1970; 0: not yet
	missing atomic.Int64   // webhooks that are awaited
	done    chan struct{}  // closed when none is missing
}

// newHookLog returns a log for timers from first to first+n-1, of which some are awaited.
func newHookLog(first, n, awaited int) *hookLog {
	l := &hookLog{first: first, arrived: make([]atomic.Int64, n), done: make(chan struct{})}
	l.missing.Store(int64(awaited))
	return l
}

func (l *hookLog) add(i int, at time.Time) {
	if i < l.first || i >= l.first+len(l.arrived) {
		return // of a round before
	}
	if l.arrived[i-l.first].CompareAndSwap(0, at.UnixNano()) && l.missing.Add(-1) == 0 { // one may come twice
		close(l.done)
	}
}

// last returns when the last webhook arrived.
func (l *hookLog) last() time.Time {
	last := int64(0)
	for i := range l.arrived {
		last = max(last, l.arrived[i].Load())
	}
	return time.Unix(0, last)
}
