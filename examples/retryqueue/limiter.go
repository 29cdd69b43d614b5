package main

import (
	"context"
	"sync"
	"time"

	"github.com/foliot-go/foliot"
)

// maxRate is the highest rate at which the nanoseconds between two events can be counted
// without much rounding.
const maxRate = 10_000_000

// A Limiter bounds how often something is begun: within any time t no more often than
// burst + t × rate. It keeps a single number, the time at which it would be rested again if
// nothing more were begun.
type Limiter struct {
	rt    *foliot.Runtime
	each  time.Duration // between two events, rounded up
	slack time.Duration // how far ahead of an even pace a burst may get

	mu     sync.Mutex
	rested time.Time
}

// NewLimiter returns a limiter for rate events a second, and burst at once after a rest.
func NewLimiter(rt *foliot.Runtime, rate, burst int) *Limiter {
	each := (time.Second + time.Duration(rate) - 1) / time.Duration(rate)
	return &Limiter{rt: rt, each: each, slack: time.Duration(burst-1) * each}
}

// Wait waits until the next event may begin. If ctx or the runtime ends before, it says
// so; the event's place is then lost, which errs on the safe side.
func (l *Limiter) Wait(ctx context.Context) error {
	l.mu.Lock()
	now := time.Now()
	if l.rested.Before(now) {
		l.rested = now
	}
	wait := l.rested.Add(-l.slack).Sub(now)
	l.rested = l.rested.Add(l.each)
	l.mu.Unlock()
	if wait <= 0 {
		return ctx.Err()
	}
	return l.rt.Sleep(ctx, wait)
}
