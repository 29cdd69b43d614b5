package main

import (
	"context"
	"sync"
	"time"

	"github.com/foliot-go/foliot"
)

// maxRate is the highest rate. At higher ones, rounding the interval between two events to
// nanoseconds would matter.
const maxRate = 10_000_000

// A Limiter limits how often events begin: within any time t, at most burst + t × rate of
// them. Its whole state is a single time, that of the next event at an even pace.
type Limiter struct {
	rt        *foliot.Runtime
	interval  time.Duration // between two events at an even pace, rounded up
	burstLead time.Duration // how far a burst may be ahead of an even pace

	mu       sync.Mutex
	nextEven time.Time
}

// NewLimiter returns a limiter for rate events per second, of which burst may begin at once
// after a pause.
func NewLimiter(rt *foliot.Runtime, rate, burst int) *Limiter {
	interval := (time.Second + time.Duration(rate) - 1) / time.Duration(rate)
	return &Limiter{rt: rt, interval: interval, burstLead: time.Duration(burst-1) * interval}
}

// Wait waits until the next event may begin. If ctx ends or the runtime is shut down before
// that, it returns an error. The event still counts then, so the rate is never exceeded.
func (l *Limiter) Wait(ctx context.Context) error {
	l.mu.Lock()
	now := time.Now()
	if l.nextEven.Before(now) {
		l.nextEven = now
	}
	wait := l.nextEven.Add(-l.burstLead).Sub(now)
	l.nextEven = l.nextEven.Add(l.interval)
	l.mu.Unlock()
	if wait <= 0 {
		return ctx.Err()
	}
	return l.rt.Sleep(ctx, wait)
}
