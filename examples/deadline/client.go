package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// ErrTimeout is the result of a request that got no reply within its deadline.
var ErrTimeout = errors.New("no reply within the deadline")

// ErrClosed is the result of a request on a client that is closed.
var ErrClosed = errors.New("client is closed")

// Client sends requests over one connection and matches replies with them. Its methods
// are safe for concurrent use. Close it before its runtime is shut down: a timer of a
// closed runtime neither fires nor can be stopped, so the request would never complete.
type Client struct {
	rt   *foliot.Runtime
	conn io.ReadWriteCloser
	done chan struct{} // closed when the reader has ended

	lateReplies atomic.Int64 // replies to requests that had already ended

	mu      sync.Mutex
	err     error // why no more requests are accepted; nil: they are
	last    uint64
	pending map[uint64]*call

	writing sync.Mutex
}

// call is a pending request. A reply, a broken connection or a cancelled context completes
// it only after timer.Stop has returned true, which happens at most once. The deadline
// completes it in the callback, which runs only if no Stop returned true. So each call is
// completed exactly once, without a flag.
type call struct {
	timer  foliot.Timer
	result chan result // buffered, so that completing never blocks
}

type result struct {
	value uint64
	err   error
}

// NewClient returns a client on conn. Close closes conn.
func NewClient(rt *foliot.Runtime, conn io.ReadWriteCloser) *Client {
	c := &Client{rt: rt, conn: conn, done: make(chan struct{}), pending: make(map[uint64]*call)}
	go c.read()
	return c
}

// Do sends a request and waits for the reply, but no longer than timeout.
func (c *Client) Do(ctx context.Context, value uint64, timeout time.Duration) (uint64, error) {
	id, cl, err := c.start(timeout)
	if err != nil {
		return 0, err
	}
	if err := c.write(frame{id, value}); err != nil {
		c.complete(id, result{err: fmt.Errorf("sending the request: %w", err)})
	}
	select {
	case res := <-cl.result:
		return res.value, res.err
	case <-ctx.Done():
		c.complete(id, result{err: context.Cause(ctx)})
		res := <-cl.result // the result above, or one that came first
		return res.value, res.err
	}
}

// start adds a call to the pending ones and arms its deadline.
func (c *Client) start(timeout time.Duration) (uint64, *call, error) {
	cl := &call{result: make(chan result, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, nil, c.err
	}
	c.last++
	id := c.last
	// The timer is armed under the lock: if the deadline passes at once, the callback waits
	// for the lock and then finds the call. Armed before the lock, it might not find the
	// call, which would then stay pending forever.
	timer, err := c.rt.AfterFunc(timeout, func() { c.expire(id) })
	if err != nil {
		return 0, nil, err
	}
	cl.timer = timer
	c.pending[id] = cl
	return id, cl, nil
}

// complete ends a call with res, unless it has already ended or is about to. It reports
// whether it did.
func (c *Client) complete(id uint64, res result) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl := c.pending[id]
	if cl == nil || !cl.timer.Stop() {
		return false // the call is complete, or the callback will complete it
	}
	delete(c.pending, id)
	cl.result <- res
	return true
}

// expire is the callback of the deadline. If it runs, every Stop returns false, so the call
// is still pending and only expire completes it.
func (c *Client) expire(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl := c.pending[id]
	delete(c.pending, id)
	cl.result <- result{err: ErrTimeout}
}

func (c *Client) write(f frame) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return f.write(c.conn)
}

// read passes replies to their calls until the connection ends. Then it fails the rest.
func (c *Client) read() {
	defer close(c.done)
	in := bufio.NewReader(c.conn)
	for {
		f, err := readFrame(in)
		if err != nil {
			c.fail(fmt.Errorf("reading replies: %w", err))
			return
		}
		if !c.complete(f.ID, result{value: f.Value}) {
			c.lateReplies.Add(1)
		}
	}
}

// fail accepts no more requests and ends the pending ones with err.
func (c *Client) fail(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	err = c.err
	ids := make([]uint64, 0, len(c.pending))
	for id := range c.pending {
		ids = append(ids, id)
	}
	c.mu.Unlock()
	for _, id := range ids {
		c.complete(id, result{err: err})
	}
}

// Close ends the pending requests with ErrClosed and closes the connection.
func (c *Client) Close() error {
	c.fail(ErrClosed)
	err := c.conn.Close()
	<-c.done
	return err
}

// Pending returns the number of pending requests.
func (c *Client) Pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending)
}
