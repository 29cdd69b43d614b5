package main

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/foliot-go/foliot"
)

// Scheduler runs jobs when they are due. It keeps a list of the jobs that have not begun, so
// that those left at the end can be saved for the next start.
type Scheduler struct {
	rt *foliot.Runtime

	mu       sync.Mutex
	waiting  map[string]time.Time // when each job is due, by name
	running  int
	finished int
}

// NewScheduler returns a scheduler with its own runtime.
func NewScheduler() (*Scheduler, error) {
	// Jobs may take long, so each runs on a new goroutine. Without this option a runtime can
	// handle callbacks that block too, but that is meant for rare cases.
	rt, err := foliot.New(foliot.Options{Go: func(f func()) { go f() }})
	if err != nil {
		return nil, err
	}
	return &Scheduler{rt: rt, waiting: make(map[string]time.Time)}, nil
}

// Add schedules a job to run after d. After Close has begun, it returns foliot.ErrClosed,
// and the job will not run.
func (s *Scheduler) Add(name string, d time.Duration, job func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.waiting[name]; ok {
		return fmt.Errorf("job %q is waiting already, choose another name", name)
	}
	// The timer is armed under the lock: a job that is due at once waits for the lock, and
	// then it is on the list.
	if _, err := s.rt.AfterFunc(d, func() { s.run(name, job) }); err != nil {
		return err
	}
	s.waiting[name] = time.Now().Add(d)
	return nil
}

// run is the callback of a job's timer.
func (s *Scheduler) run(name string, job func()) {
	s.mu.Lock()
	delete(s.waiting, name)
	s.running++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running--
		s.finished++
	}()
	job()
}

// Close prevents further jobs from beginning, and waits for the running ones until ctx ends.
// It returns the jobs that have not begun, and never will. If it returns an error, jobs are
// still running, and the caller may wait again with another Close, or exit.
func (s *Scheduler) Close(ctx context.Context) (left map[string]time.Time, err error) {
	armed, err := s.rt.Shutdown(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	left = maps.Clone(s.waiting)
	if err != nil {
		return left, fmt.Errorf("%d jobs are still running: %w", s.running, err)
	}
	if armed != len(left) {
		return left, fmt.Errorf("%d jobs have not begun, but %d timers were armed", len(left), armed)
	}
	return left, nil
}

// Counts returns the numbers of jobs that are waiting, running and finished.
func (s *Scheduler) Counts() (waiting, running, finished int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting), s.running, s.finished
}
