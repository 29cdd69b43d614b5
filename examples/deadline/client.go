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

// ErrTimeout is the result of a request without a reply within its time.
var ErrTimeout = errors.New("no reply within the deadline")

// ErrClosed is the result of a request on a client that is closed.
var ErrClosed = errors.New("client is closed")

// Client sends requests over one connection and pairs replies with them. Its methods
// are safe for concurrent use. Close it before its runtime is shut down: a timer of a
// closed runtime neither fires nor stops, so nobody would complete the request.
type Client struct {
	rt   *foliot.Runtime
	conn io.ReadWriteCloser
	done chan struct{} // closed when the reader has ended

	strays atomic.Int64 // replies that nobody waited for any more

	mu      sync.Mutex
	err     error // why there are no more requests
	last    uint64
	pending map[uint64]*call

	writing sync.Mutex
}

// call is a request under way. Reply, broken connection and cancelled context complete
// it only after timer.Stop has answered true, which it does once; the deadline completes
// it in the callback, which runs only if nobody was told true. So there is one
// completion for each call, and it needs no flag.
type call struct {
	timer  foliot.Timer
	result chan result // room for one, so that completing never blocks
}

type result struct {
	value uint64
	err   error
}

// NewClient returns a client on conn, which it closes in the end.
func NewClient(rt *foliot.Runtime, conn io.ReadWriteCloser) *Client {
	c := &Client{rt: rt, conn: conn, done: make(chan struct{}), pending: make(map[uint64]*call)}
	go c.read()
	return c
}

// Do sends a request and waits for the reply, for no longer than timeout.
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
		res := <-cl.result // this one or that of somebody who was faster
		return res.value, res.err
	}
}

// start puts a call on the books and its deadline on the clock.
func (c *Client) start(timeout time.Duration) (uint64, *call, error) {
	cl := &call{result: make(chan result, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, nil, c.err
	}
	c.last++
	id := c.last
	// The timer is armed under the lock: when the deadline passes at once, its callback
	// waits for the lock and then finds the call. Armed before, it would find nothing,
	// and the call would stay on the books for ever.
	timer, err := c.rt.AfterFunc(timeout, func() { c.expire(id) })
	if err != nil {
		return 0, nil, err
	}
	cl.timer = timer
	c.pending[id] = cl
	return id, cl, nil
}

// complete ends a call with res, unless somebody else does. It says whether it did.
func (c *Client) complete(id uint64, res result) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl := c.pending[id]
	if cl == nil || !cl.timer.Stop() {
		return false // it is complete, or the callback is on its way to do that
	}
	delete(c.pending, id)
	cl.result <- res
	return true
}

// expire is the callback of the deadline. That it runs means that every Stop was and
// will be false: the call is still on the books, and nobody else completes it.
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

// read hands replies out until the connection ends, and fails the calls left then.
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
			c.strays.Add(1)
		}
	}
}

// fail takes no more requests and ends those under way with err.
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

// Close ends the requests under way with ErrClosed and closes the connection.
func (c *Client) Close() error {
	c.fail(ErrClosed)
	err := c.conn.Close()
	<-c.done
	return err
}

// Pending counts the requests under way.
func (c *Client) Pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending)
}
