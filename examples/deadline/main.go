// Command deadline is a client that has many requests pending on one connection, each with a
// deadline of its own.
//
//	go run ./examples/deadline
//
// A reply, the deadline and a canceled context may all come at the same moment, and exactly one
// of them must complete the request. There is no flag and no state to check for that: Stop
// decides. Whoever gets true from Stop completes the request. If nobody does, the deadline's
// callback runs, and completes it instead.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// A Client matches replies with requests. Its methods may be called from any goroutine.
type Client struct {
	rt   *foliot.Runtime
	send func(id uint64, request string) // writes a request to the connection

	mu      sync.Mutex
	last    uint64
	pending map[uint64]*call
}

// A call is a request that waits for its reply.
type call struct {
	deadline foliot.Timer
	result   chan result // has room for one result, and gets one
}

type result struct {
	reply string
	err   error
}

var errTimeout = errors.New("no reply within the deadline")

// Do sends a request and waits for the reply, but no longer than timeout.
func (c *Client) Do(ctx context.Context, request string, timeout time.Duration) (string, error) {
	id, result, err := c.start(timeout)
	if err != nil {
		return "", err
	}
	c.send(id, request)
	select {
	case r := <-result:
		return r.reply, r.err
	case <-ctx.Done():
		c.complete(id, "", ctx.Err())
		r := <-result // ctx's error, or what came first
		return r.reply, r.err
	}
}

// start arms the deadline of a new call. It does so under the lock: a callback that runs
// immediately has to wait for the lock, and then finds the call in the map.
func (c *Client) start(timeout time.Duration) (uint64, <-chan result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	id := c.last
	deadline, err := c.rt.AfterFunc(timeout, func() { c.expire(id) })
	if err != nil {
		return 0, nil, err // the runtime has been shut down
	}
	cl := &call{deadline, make(chan result, 1)}
	c.pending[id] = cl
	return id, cl.result, nil
}

// complete ends a call and reports whether it did. It returns false if the call has ended
// already, or if its deadline has passed and expire is about to end it.
func (c *Client) complete(id uint64, reply string, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl := c.pending[id]
	if cl == nil || !cl.deadline.Stop() {
		return false
	}
	delete(c.pending, id)
	cl.result <- result{reply, err}
	return true
}

// expire is the deadline's callback. That it runs means that Stop has returned true to nobody,
// and never will, so the call is still in the map.
func (c *Client) expire(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl := c.pending[id]
	delete(c.pending, id)
	cl.result <- result{err: errTimeout}
}

func main() {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	c := &Client{rt: rt, pending: make(map[uint64]*call)}

	// The server answers immediately: the deadline is stopped and never fires.
	c.send = func(id uint64, request string) { go c.complete(id, "Ada", nil) }
	show(c.Do(context.Background(), "GET user:1", time.Minute))

	// The server is silent.
	c.send = func(uint64, string) {}
	show(c.Do(context.Background(), "GET user:2", 20*time.Millisecond))

	// The caller changes its mind.
	ctx, cancel := context.WithCancel(context.Background())
	c.send = func(uint64, string) { cancel() }
	show(c.Do(ctx, "GET user:3", time.Minute))

	race(c)

	armed, err := rt.Shutdown(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("timers left:", armed)
}

func show(reply string, err error) {
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println("reply:", reply)
}

// race sends 10,000 requests whose replies come just when their deadlines do. Which of
// the two is first differs from run to run. That each request has one result does not.
func race(c *Client) {
	const requests, timeout = 10_000, 20 * time.Millisecond
	var replies, callers sync.WaitGroup
	var inTime, tooLate, answered, timedOut atomic.Int64
	c.send = func(id uint64, _ string) {
		replies.Add(1)
		_, err := c.rt.AfterFunc(timeout-rand.N(100*time.Microsecond), func() {
			defer replies.Done()
			if c.complete(id, "Ada", nil) {
				inTime.Add(1)
			} else {
				tooLate.Add(1)
			}
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	for range requests {
		callers.Go(func() {
			if _, err := c.Do(context.Background(), "GET user:1", timeout); err == nil {
				answered.Add(1)
			} else if errors.Is(err, errTimeout) {
				timedOut.Add(1)
			}
		})
	}
	callers.Wait()
	replies.Wait()
	fmt.Println("requests with a result:", answered.Load()+timedOut.Load())
	fmt.Println("every reply in time was used:", inTime.Load() == answered.Load())
	fmt.Println("every other request timed out:", tooLate.Load() == timedOut.Load())
}
