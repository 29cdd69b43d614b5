package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/foliot-go/foliot"
)

// Policy says how often to try and how long to wait in between. The zero value tries once.
type Policy struct {
	// Attempts is the largest number of attempts.
	Attempts int
	// Base is the longest wait after the first attempt. Each further attempt doubles it, up
	// to Max. If Max is 0, there is no limit.
	Base, Max time.Duration
	// Jitter returns the wait, given its upper bound. If it is nil, the wait is random and
	// uniform, so that clients that failed at the same time do not come back at the same
	// time.
	Jitter func(bound time.Duration) time.Duration
}

// wait returns how long to wait after the given failed attempt, counted from 1.
func (p Policy) wait(attempt int) time.Duration {
	limit := p.Max
	if limit <= 0 {
		limit = 1<<63 - 1
	}
	bound := min(p.Base, limit)
	for range attempt - 1 {
		if bound > limit/2 {
			bound = limit
			break // doubling would overflow
		}
		bound *= 2
	}
	switch {
	case bound <= 0:
		return 0
	case p.Jitter != nil:
		return p.Jitter(bound)
	}
	return rand.N(bound)
}

// permanent marks an error that would not go away with another attempt.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// Permanent wraps an error after which Retry gives up at once.
func Permanent(err error) error { return permanent{err} }

// Retry calls op until it succeeds. Between attempts it waits as the policy says, on a timer
// of rt. It gives up after the attempts of the policy, on an error marked Permanent, when
// ctx ends, and when ctx would end before the next attempt. The error says why, and wraps
// the error of the last attempt.
func Retry(ctx context.Context, rt *foliot.Runtime, p Policy, op func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err := op(ctx)
		if err == nil {
			return nil
		}
		var perm permanent
		if errors.As(err, &perm) {
			return err
		}
		if attempt >= p.Attempts {
			return fmt.Errorf("gave up after %d attempts: %w", attempt, err)
		}
		wait := p.wait(attempt)
		if end, ok := ctx.Deadline(); ok && end.Sub(rt.Now()) <= wait {
			return fmt.Errorf("%w before attempt %d; the last one: %w", context.DeadlineExceeded, attempt+1, err)
		}
		// Sleep ends early if ctx ends or the runtime is shut down. It leaves no timer behind.
		if ended := rt.Sleep(ctx, wait); ended != nil {
			return fmt.Errorf("%w after %d attempts; the last one: %w", ended, attempt, err)
		}
	}
}
