package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// counts holds what happened to the requests, as counted by the callers, by the backend
// and by the runtime of the client.
type counts struct {
	sent, inTime, timedOut, cancelled, failed atomic.Int64
	firstErr                                  atomic.Value

	replies, lateReplies int64
	pending, armed       int
	stats                foliot.Stats
}

// sendAll sends the requests, c.parallel at a time, until all are sent or ctx ends.
func (t *counts) sendAll(ctx context.Context, client *Client, c config) {
	var (
		next    atomic.Int64
		callers sync.WaitGroup
	)
	for range c.parallel {
		callers.Go(func() {
			for ctx.Err() == nil {
				n := next.Add(1)
				if n > int64(c.requests) {
					return
				}
				t.sent.Add(1)
				value, err := client.Do(ctx, uint64(n), c.deadline)
				switch {
				case err == nil && value == 2*uint64(n):
					t.inTime.Add(1)
				case err == nil:
					t.fail(fmt.Errorf("request %d got the reply %d of another request", n, value))
				case errors.Is(err, ErrTimeout):
					t.timedOut.Add(1)
				case errors.Is(err, context.Cause(ctx)):
					t.cancelled.Add(1)
				default:
					t.fail(err)
				}
			}
		})
	}
	callers.Wait()
}

func (t *counts) fail(err error) {
	t.failed.Add(1)
	t.firstErr.CompareAndSwap(nil, err.Error())
}

func (t *counts) print(out io.Writer) {
	fmt.Fprintf(out, "%8d requests\n", t.sent.Load())
	fmt.Fprintf(out, "%8d   answered in time\n", t.inTime.Load())
	fmt.Fprintf(out, "%8d   timed out\n", t.timedOut.Load())
	fmt.Fprintf(out, "%8d   cancelled\n", t.cancelled.Load())
	fmt.Fprintf(out, "%8d   failed\n", t.failed.Load())
	fmt.Fprintf(out, "%8d replies\n", t.replies)
	fmt.Fprintf(out, "%8d   of them after the deadline, dropped\n", t.lateReplies)
	fmt.Fprintf(out, "%8d timers stopped, %d fired, %d left; half of those that fired were less than %v late\n",
		t.stats.Stopped, t.stats.Fired, t.armed, t.stats.Late.Quantile(0.5).Round(time.Microsecond))
}

// check compares the counts of all three.
func (t *counts) check() error {
	sent, inTime, timedOut, cancelled := t.sent.Load(), t.inTime.Load(), t.timedOut.Load(), t.cancelled.Load()
	var errs []error
	if err := t.firstErr.Load(); err != nil {
		errs = append(errs, fmt.Errorf("%d requests failed, the first: %v", t.failed.Load(), err))
	}
	for _, sum := range []struct {
		what      string
		got, want int64
	}{
		{"requests completed", inTime + timedOut + cancelled + t.failed.Load(), sent},
		{"replies used or dropped", inTime + t.lateReplies, t.replies},
		{"timers fired", int64(t.stats.Fired), timedOut},
		{"timers stopped", int64(t.stats.Stopped), sent - timedOut},
		{"timers left", int64(t.armed), 0},
		{"requests pending", int64(t.pending), 0},
	} {
		if sum.got != sum.want {
			errs = append(errs, fmt.Errorf("%s: %d, want %d", sum.what, sum.got, sum.want))
		}
	}
	return errors.Join(errs...)
}
