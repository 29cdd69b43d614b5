package main

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/foliot-go/foliot"
)

// Scheduler runs jobs at their time. Until it is closed, the jobs that have not begun
// are on a list, so that what is left in the end can be saved for the next start.
type Scheduler struct {
	rt *foliot.Runtime

	mu       sync.Mutex
	waiting  map[string]time.Time // jobs by name, and when they are due
	running  int
	finished int
}

// NewScheduler returns a scheduler with a runtime of its own.
func NewScheduler() (*Scheduler, error) {
	// Jobs may take long, so each has a goroutine. A runtime copes with callbacks that
	// block without this, but that is for the exception.
	rt, err := foliot.New(foliot.Options{Go: func(f func()) { go f() }})
	if err != nil {
		return nil, err
	}
	return &Scheduler{rt: rt, waiting: make(map[string]time.Time)}, nil
}

// Add has the job run after d. The error is foliot.ErrClosed after Close has begun, and
// the job will not run then.
func (s *Scheduler) Add(name string, d time.Duration, job func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.waiting[name]; ok {
		return fmt.Errorf("job %q is waiting already, choose another name", name)
	}
	// Armed under the lock: a job that is due at once waits for the lock and finds itself
	// on the list.
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

// Close begins no more jobs and waits for those that run, for as long as ctx lets it. It
// returns the jobs that have not begun; they never will. After an error jobs are still
// running, and the caller decides whether to wait again, with another Close, or to exit.
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

// Counts returns how many jobs are waiting, running and finished.
func (s *Scheduler) Counts() (waiting, running, finished int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting), s.running, s.finished
}
