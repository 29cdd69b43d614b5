package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// service is what the jobs are about. It fails as often as it is told to, and keeps the
// books: what has become of each job, and whether it was asked too often.
type service struct {
	config
	start time.Time

	mu                        sync.Mutex
	outcome                   []outcome // by job
	attempts, finished, given int
	wrong                     error // the first thing that does not add up
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

// chance returns a number between 0 and 1 that depends on nothing but its arguments and
// the seed.
func (s *service) chance(id uint64, attempt int) float64 {
	return rand.New(rand.NewPCG(s.seed<<8+uint64(attempt), id)).Float64()
}

// fails tells whether an attempt, counted from 1, is to fail.
func (s *service) fails(id uint64, attempt int) bool {
	return s.chance(id, 0) < s.broken || s.chance(id, attempt) < s.fail
}

func (s *service) attempt(_ context.Context, id uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.attempts++
	if most := float64(s.policy.Burst) + now.Sub(s.start).Seconds()*float64(s.policy.Rate); float64(s.attempts) > most {
		s.blame("%d attempts after %v, where %.1f are allowed", s.attempts, now.Sub(s.start), most)
	}
	o := &s.outcome[id]
	if o.attempts > 0 && now.Sub(o.last) < s.policy.pause(o.attempts) {
		s.blame("job %d: attempt %d came %v after the one before", id, o.attempts+1, now.Sub(o.last))
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
		s.blame("job %d is said to be done, but its attempt %d failed", id, o.attempts)
	}
}

func (s *service) giveUp(id uint64, last error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given++
	if o := s.settle(id); o.attempts != s.policy.Attempts || !errors.Is(last, errFlaky) {
		s.blame("job %d was given up after %d attempts: %v", id, o.attempts, last)
	}
}

// settle notes that a job is done or given up. The caller holds the lock.
func (s *service) settle(id uint64) *outcome {
	o := &s.outcome[id]
	if o.settled {
		s.blame("job %d was settled twice", id)
	}
	o.settled = true
	return o
}

// blame notes what does not add up. The caller holds the lock.
func (s *service) blame(format string, args ...any) {
	if s.wrong == nil {
		s.wrong = fmt.Errorf(format, args...)
	}
}

func (s *service) totals() (done, given, attempts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finished, s.given, s.attempts
}

// check tells what does not add up, when left jobs are still in the queue.
func (s *service) check(left int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := 0
	for _, o := range s.outcome {
		if !o.settled {
			open++
		}
	}
	if open != left || s.finished+s.given+left != s.jobs {
		s.blame("of %d jobs %d are done, %d given up, %d open and %d in the queue", s.jobs, s.finished, s.given, open, left)
	}
	return s.wrong
}
