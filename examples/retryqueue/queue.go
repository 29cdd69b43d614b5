package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// Policy says how often and how fast jobs are tried.
type Policy struct {
	Batch       int           // largest number of jobs that a worker fetches at once
	Attempts    int           // largest number of attempts for a job
	Base, Max   time.Duration // the first and the longest pause between attempts
	Rate, Burst int           // attempts per second, and at once after a pause
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

// A job waits for its next attempt. It has no pointers, so the garbage collector does not
// scan the queue, however many jobs it holds. The ID tells the user what to do.
type job struct {
	id       uint64
	attempts int // failed attempts
}

// A RetryQueue tries jobs until they are done or given up. Such a job is called settled.
type RetryQueue struct {
	// For each job, one of OnDone and OnGiveUp is called, once. Several goroutines call
	// them.
	OnDone   func(id uint64)
	OnGiveUp func(id uint64, last error)

	policy     Policy
	attempt    func(ctx context.Context, id uint64) error
	limiter    *Limiter
	q          *foliot.Queue[job]
	unsettled  atomic.Int64  // number of jobs that are not settled
	allSettled chan struct{} // receives when all jobs are settled
}

// NewRetryQueue returns an empty queue. A job is done when attempt returns nil for it.
func NewRetryQueue(rt *foliot.Runtime, p Policy, attempt func(ctx context.Context, id uint64) error) *RetryQueue {
	return &RetryQueue{
		OnDone:     func(uint64) {},
		OnGiveUp:   func(uint64, error) {},
		policy:     p,
		attempt:    attempt,
		limiter:    NewLimiter(rt, p.Rate, p.Burst),
		q:          foliot.NewQueue[job](rt),
		allSettled: make(chan struct{}, 1),
	}
}

// Add adds a job to the queue. It is due at once.
func (r *RetryQueue) Add(id uint64) error {
	r.unsettled.Add(1)
	if _, err := r.q.Push(0, job{id: id}); err != nil {
		r.settle()
		return err
	}
	return nil
}

// Len returns the number of jobs that wait for an attempt.
func (r *RetryQueue) Len() int { return r.q.Len() }

// Run processes jobs until all are settled or ctx ends. When it returns, no attempt is
// running, and all jobs that are not settled are in the queue.
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
	for r.unsettled.Load() > 0 {
		select {
		case <-r.allSettled:
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

// errSettled ends the workers when all jobs are settled.
var errSettled = errors.New("all jobs are settled")

// work fetches jobs that are due, and tries them at the allowed rate.
func (r *RetryQueue) work(ctx context.Context) error {
	batch := make([]job, r.policy.Batch)
	for {
		n, err := r.q.Wait(ctx, batch)
		if err != nil {
			return err
		}
		for i, j := range batch[:n] {
			err := r.limiter.Wait(ctx)
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

// try makes an attempt. It returns an error of the queue, not of the attempt.
func (r *RetryQueue) try(ctx context.Context, j job) error {
	err := r.attempt(ctx, j.id)
	switch {
	case err == nil:
		r.OnDone(j.id)
		r.settle()
		return nil
	case ctx.Err() != nil:
		return r.putBack(0, j) // the attempt may have failed because ctx ended, so it does not count
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
	if r.unsettled.Add(-1) == 0 {
		select {
		case r.allSettled <- struct{}{}:
		default: // there is already a value
		}
	}
}
