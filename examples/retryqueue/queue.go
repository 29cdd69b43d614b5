package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// Policy says how patiently jobs are tried, and how fast.
type Policy struct {
	Batch       int           // how many jobs a worker fetches at most
	Attempts    int           // how often a job is tried at most
	Base, Max   time.Duration // the first pause, and the longest
	Rate, Burst int           // attempts a second, and at once after a rest
}

// pause returns how long to wait after the given failed attempt, counted from 1.
func (p Policy) pause(attempt int) time.Duration {
	pause := p.Base
	for range attempt - 1 {
		if pause >= p.Max/2 {
			return p.Max
		}
		pause *= 2
	}
	return min(pause, p.Max)
}

// A job waits for its next attempt. It has no pointers, so that millions of them in the
// queue are nothing to the garbage collector; what there is to do is found by the ID.
type job struct {
	id       uint64
	attempts int // that have failed
}

// A RetryQueue has jobs tried until they are done or given up.
type RetryQueue struct {
	// OnDone and OnGiveUp are told what has become of a job: one of them, once for each
	// job. They are called by several goroutines.
	OnDone   func(id uint64)
	OnGiveUp func(id uint64, last error)

	policy  Policy
	attempt func(ctx context.Context, id uint64) error
	limit   *Limiter
	q       *foliot.Queue[job]
	open    atomic.Int64  // jobs that are neither done nor given up
	settled chan struct{} // told when there are none
}

// NewRetryQueue returns an empty queue. An attempt that returns nil has done its job.
func NewRetryQueue(rt *foliot.Runtime, p Policy, attempt func(ctx context.Context, id uint64) error) *RetryQueue {
	return &RetryQueue{
		OnDone:   func(uint64) {},
		OnGiveUp: func(uint64, error) {},
		policy:   p,
		attempt:  attempt,
		limit:    NewLimiter(rt, p.Rate, p.Burst),
		q:        foliot.NewQueue[job](rt),
		settled:  make(chan struct{}, 1),
	}
}

// Add puts a job into the queue, to be tried as soon as its turn comes.
func (r *RetryQueue) Add(id uint64) error {
	r.open.Add(1)
	if _, err := r.q.Push(0, job{id: id}); err != nil {
		r.settle()
		return err
	}
	return nil
}

// Len returns how many jobs wait for an attempt.
func (r *RetryQueue) Len() int { return r.q.Len() }

// Run works jobs off until all are settled or ctx ends. Then no attempt is under way, and
// each job that is not settled is in the queue.
func (r *RetryQueue) Run(ctx context.Context, workers int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			if err := r.work(ctx); err != nil {
				cancel(err)
			}
		})
	}
	for r.open.Load() > 0 {
		select {
		case <-r.settled:
			continue
		case <-ctx.Done():
		}
		break
	}
	cancel(errSettled)
	working.Wait()
	if err := context.Cause(ctx); !errors.Is(err, errSettled) {
		return err
	}
	return nil
}

// errSettled ends the workers when there is nothing left to do.
var errSettled = errors.New("all jobs are settled")

// work fetches jobs that are due, and tries them at the rate that is allowed.
func (r *RetryQueue) work(ctx context.Context) error {
	batch := make([]job, r.policy.Batch)
	for {
		n, err := r.q.Wait(ctx, batch)
		if err != nil {
			return err
		}
		for i, j := range batch[:n] {
			err := r.limit.Wait(ctx)
			if err == nil {
				err = r.try(ctx, j)
			} else {
				err = errors.Join(err, r.putBack(0, j))
			}
			if err != nil {
				return errors.Join(err, r.putBack(0, batch[i+1:n]...))
			}
		}
	}
}

// try makes an attempt. The error is not the attempt's, but that of the queue.
func (r *RetryQueue) try(ctx context.Context, j job) error {
	err := r.attempt(ctx, j.id)
	switch {
	case err == nil:
		r.OnDone(j.id)
		r.settle()
		return nil
	case ctx.Err() != nil:
		return r.putBack(0, j) // it may have failed for that reason, so it does not count
	}
	j.attempts++
	if j.attempts >= r.policy.Attempts {
		r.OnGiveUp(j.id, err)
		r.settle()
		return nil
	}
	return r.putBack(r.policy.pause(j.attempts), j)
}

func (r *RetryQueue) putBack(pause time.Duration, jobs ...job) error {
	for _, j := range jobs {
		if _, err := r.q.Push(pause, j); err != nil {
			return err
		}
	}
	return nil
}

func (r *RetryQueue) settle() {
	if r.open.Add(-1) == 0 {
		select {
		case r.settled <- struct{}{}:
		default: // told already
		}
	}
}
