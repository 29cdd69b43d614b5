package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// service performs the attempts of the jobs. It fails as often as the flags say. It records
// what happens to each job, and checks the rate and the pauses.
type service struct {
	config
	start time.Time

	mu                          sync.Mutex
	outcome                     []outcome // by job
	attempts, finished, givenUp int
	firstErr                    error // the first error that the checks have found
}

type outcome struct {
	attempts int
	last     time.Time // the latest attempt
	settled  bool
}

var errFlaky = errors.New("service unavailable")

func newService(c config) *service {
	return &service{config: c, start: time.Now(), outcome: make([]outcome, c.jobs)}
}

// chance returns a random number between 0 and 1 that depends only on its arguments and the
// seed.
func (s *service) chance(id uint64, attempt int) float64 {
	return rand.New(rand.NewPCG(s.seed<<8+uint64(attempt), id)).Float64()
}

// fails reports whether an attempt, counted from 1, is to fail.
func (s *service) fails(id uint64, attempt int) bool {
	return s.chance(id, 0) < s.broken || s.chance(id, attempt) < s.fail
}

func (s *service) attempt(_ context.Context, id uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.attempts++
	if most := float64(s.policy.Burst) + now.Sub(s.start).Seconds()*float64(s.policy.Rate); float64(s.attempts) > most {
		s.recordError("%d attempts after %v, want at most %.1f", s.attempts, now.Sub(s.start), most)
	}
	o := &s.outcome[id]
	if o.attempts > 0 && now.Sub(o.last) < s.policy.pause(o.attempts) {
		s.recordError("job %d: attempt %d came %v after the one before", id, o.attempts+1, now.Sub(o.last))
	}
	o.attempts++
	o.last = now
	if s.fails(id, o.attempts) {
		return errFlaky
	}
	return nil
}

func (s *service) done(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finished++
	if o := s.settle(id); s.fails(id, o.attempts) {
		s.recordError("job %d was reported as done, but its attempt %d failed", id, o.attempts)
	}
}

func (s *service) giveUp(id uint64, last error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.givenUp++
	if o := s.settle(id); o.attempts != s.policy.Attempts || !errors.Is(last, errFlaky) {
		s.recordError("job %d was given up after %d attempts: %v", id, o.attempts, last)
	}
}

// settle records that a job is done or given up. The caller holds the lock.
func (s *service) settle(id uint64) *outcome {
	o := &s.outcome[id]
	if o.settled {
		s.recordError("job %d was settled twice", id)
	}
	o.settled = true
	return o
}

// recordError records the first error. The caller holds the lock.
func (s *service) recordError(format string, args ...any) {
	if s.firstErr == nil {
		s.firstErr = fmt.Errorf(format, args...)
	}
}

func (s *service) totals() (done, given, attempts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finished, s.givenUp, s.attempts
}

// check returns the first error, given the number of jobs that are left in the queue.
func (s *service) check(left int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := 0
	for _, o := range s.outcome {
		if !o.settled {
			open++
		}
	}
	if open != left || s.finished+s.givenUp+left != s.jobs {
		s.recordError("of %d jobs %d are done, %d given up, %d open and %d in the queue", s.jobs, s.finished, s.givenUp, open, left)
	}
	return s.firstErr
}
