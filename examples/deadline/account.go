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

// account is what became of the requests, counted by those who made them, by the
// backend and by the runtime of the client.
type account struct {
	sent, inTime, timedOut, cancelled, failed atomic.Int64
	firstErr                                  atomic.Value

	replies, strays int64
	pending, armed  int
	stats           foliot.Stats
}

// fill sends the requests, c.parallel at a time, until all are sent or ctx ends.
func (a *account) fill(ctx context.Context, client *Client, c config) {
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
				a.sent.Add(1)
				value, err := client.Do(ctx, uint64(n), c.deadline)
				switch {
				case err == nil && value == 2*uint64(n):
					a.inTime.Add(1)
				case err == nil:
					a.fail(fmt.Errorf("request %d got the reply %d of another", n, value))
				case errors.Is(err, ErrTimeout):
					a.timedOut.Add(1)
				case errors.Is(err, context.Cause(ctx)):
					a.cancelled.Add(1)
				default:
					a.fail(err)
				}
			}
		})
	}
	callers.Wait()
}

func (a *account) fail(err error) {
	a.failed.Add(1)
	a.firstErr.CompareAndSwap(nil, err.Error())
}

func (a *account) print(out io.Writer) {
	fmt.Fprintf(out, "%8d requests\n", a.sent.Load())
	fmt.Fprintf(out, "%8d   answered in time\n", a.inTime.Load())
	fmt.Fprintf(out, "%8d   timed out\n", a.timedOut.Load())
	fmt.Fprintf(out, "%8d   cancelled\n", a.cancelled.Load())
	fmt.Fprintf(out, "%8d   failed\n", a.failed.Load())
	fmt.Fprintf(out, "%8d replies\n", a.replies)
	fmt.Fprintf(out, "%8d   of them after the deadline, dropped\n", a.strays)
	fmt.Fprintf(out, "%8d timers stopped, %d fired, %d left; half of those that fired were less than %v late\n",
		a.stats.Stopped, a.stats.Fired, a.armed, a.stats.Late.Quantile(0.5).Round(time.Microsecond))
}

// check compares the three accounts.
func (a *account) check() error {
	sent, inTime, timedOut, cancelled := a.sent.Load(), a.inTime.Load(), a.timedOut.Load(), a.cancelled.Load()
	var errs []error
	if err := a.firstErr.Load(); err != nil {
		errs = append(errs, fmt.Errorf("%d requests failed, the first: %v", a.failed.Load(), err))
	}
	for _, sum := range []struct {
		what      string
		got, want int64
	}{
		{"requests completed", inTime + timedOut + cancelled + a.failed.Load(), sent},
		{"replies used or dropped", inTime + a.strays, a.replies},
		{"timers fired", int64(a.stats.Fired), timedOut},
		{"timers stopped", int64(a.stats.Stopped), sent - timedOut},
		{"timers left", int64(a.armed), 0},
		{"requests on the books", int64(a.pending), 0},
	} {
		if sum.got != sum.want {
			errs = append(errs, fmt.Errorf("%s: %d, want %d", sum.what, sum.got, sum.want))
		}
	}
	return errors.Join(errs...)
}
