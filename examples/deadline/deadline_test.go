package main

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
)

// bubble runs f in a synctest bubble, with a client and a backend that answers as replyDelay
// says. At the end no timer may be armed on the client's runtime.
func bubble(t *testing.T, replyDelay func(frame) (time.Duration, bool), f func(t *testing.T, c *Client, rt *foliot.Runtime)) {
	synctest.Test(t, func(t *testing.T) {
		rt, err := foliot.New(foliot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		backendRT, err := foliot.New(foliot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		near, far := net.Pipe()
		c := NewClient(rt, near)
		var serving sync.WaitGroup
		serving.Go(func() { (&backend{rt: backendRT, replyDelay: replyDelay}).serve(t.Context(), far) })
		f(t, c, rt)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		far.Close()
		serving.Wait()
		if n := c.Pending(); n != 0 {
			t.Errorf("%d requests pending on a closed client", n)
		}
		if armed, err := shutdown(rt); armed != 0 || err != nil {
			t.Errorf("Shutdown: %d, %v", armed, err)
		}
		if _, err := shutdown(backendRT); err != nil {
			t.Error(err)
		}
	})
}

// repliesAfter returns a replyDelay of d for all requests.
func repliesAfter(d time.Duration) func(frame) (time.Duration, bool) {
	return func(frame) (time.Duration, bool) { return d, true }
}

func noReplies(frame) (time.Duration, bool) { return 0, false }

func TestAReplyInTimeIsTheResult(t *testing.T) {
	bubble(t, repliesAfter(10*time.Millisecond), func(t *testing.T, c *Client, rt *foliot.Runtime) {
		if v, err := c.Do(t.Context(), 21, time.Second); v != 42 || err != nil {
			t.Errorf("Do: %d, %v", v, err)
		}
		time.Sleep(time.Minute)
		if s := rt.Stats(); s.Stopped != 1 || s.Fired != 0 {
			t.Errorf("%d timers stopped, %d fired", s.Stopped, s.Fired)
		}
	})
}

func TestWithoutAReplyTheDeadlineEndsTheRequest(t *testing.T) {
	bubble(t, noReplies, func(t *testing.T, c *Client, _ *foliot.Runtime) {
		began := time.Now()
		_, err := c.Do(t.Context(), 1, time.Second)
		if took := time.Since(began); !errors.Is(err, ErrTimeout) || took < time.Second {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

func TestAReplyAfterTheDeadlineIsDropped(t *testing.T) {
	bubble(t, repliesAfter(2*time.Second), func(t *testing.T, c *Client, _ *foliot.Runtime) {
		if _, err := c.Do(t.Context(), 1, time.Second); !errors.Is(err, ErrTimeout) {
			t.Errorf("Do: %v", err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := c.lateReplies.Load(); n != 1 {
			t.Errorf("%d replies dropped", n)
		}
	})
}

func TestADeadlineInThePastLeavesNoPendingRequest(t *testing.T) {
	bubble(t, noReplies, func(t *testing.T, c *Client, _ *foliot.Runtime) {
		for _, d := range []time.Duration{0, -time.Second} {
			if _, err := c.Do(t.Context(), 1, d); !errors.Is(err, ErrTimeout) {
				t.Errorf("Do within %v: %v", d, err)
			}
		}
		if n := c.Pending(); n != 0 {
			t.Errorf("%d requests pending", n)
		}
	})
}

func TestACancelledRequestEndsAtOnce(t *testing.T) {
	bubble(t, noReplies, func(t *testing.T, c *Client, rt *foliot.Runtime) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Do(ctx, 1, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Do: %v", err)
		}
		if armed := rt.Stats().Armed; armed != 0 || c.Pending() != 0 {
			t.Errorf("%d timers armed, %d requests pending", armed, c.Pending())
		}
	})
}

func TestCloseEndsPendingRequests(t *testing.T) {
	bubble(t, noReplies, func(t *testing.T, c *Client, _ *foliot.Runtime) {
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := c.Do(t.Context(), 1, time.Hour); !errors.Is(err, ErrClosed) {
					t.Errorf("Do: %v", err)
				}
			})
		}
		synctest.Wait()
		c.Close()
		wg.Wait()
		if _, err := c.Do(t.Context(), 1, time.Hour); !errors.Is(err, ErrClosed) {
			t.Errorf("Do on a closed client: %v", err)
		}
	})
}

func TestReplyAndDeadlineAtTheSameInstantAreOneResult(t *testing.T) {
	const requests = 500
	bubble(t, repliesAfter(time.Second), func(t *testing.T, c *Client, rt *foliot.Runtime) {
		var inTime, timedOut atomic.Int64
		var wg sync.WaitGroup
		for range requests {
			wg.Go(func() {
				switch _, err := c.Do(t.Context(), 1, time.Second); {
				case err == nil:
					inTime.Add(1)
				case errors.Is(err, ErrTimeout):
					timedOut.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Second)
		synctest.Wait() // for replies to requests that have ended
		if n := inTime.Load() + timedOut.Load(); n != requests {
			t.Errorf("%d results of %d requests", n, requests)
		}
		if n := inTime.Load() + c.lateReplies.Load(); n != requests {
			t.Errorf("%d replies used or dropped of %d", n, requests)
		}
		if s := rt.Stats(); int64(s.Stopped) != inTime.Load() || int64(s.Fired) != timedOut.Load() {
			t.Errorf("%d stopped for %d replies, %d fired for %d timeouts", s.Stopped, inTime.Load(), s.Fired, timedOut.Load())
		}
	})
}

// The average latency equals the deadline, so that replies and deadlines often coincide.
func TestTheCountsOfARunAgree(t *testing.T) {
	var out strings.Builder
	args := strings.Fields("-requests 5000 -parallel 200 -deadline 10ms -latency 10ms")
	if err := run(t.Context(), args, &out); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "5000 requests\n") {
		t.Errorf("output:\n%s", out.String())
	}
}

func TestAnInterruptedRunStillAddsUp(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var out strings.Builder
	args := strings.Fields("-parallel 50 -deadline 1h -latency 1h")
	if err := run(ctx, args, &out); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "want") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestInvalidFlagsAreErrors(t *testing.T) {
	for _, args := range []string{"-requests 0", "-parallel 0", "-lost 101", "-latency -1s", "-no-such-flag", "extra"} {
		if err := run(t.Context(), strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}
