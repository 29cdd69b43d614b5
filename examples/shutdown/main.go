// Command shutdown ends a program with timers in an orderly way: no further job begins, jobs that
// are running may finish, and those that have not begun are saved for the next start.
//
//	go run ./examples/shutdown
//
// Runtime.Shutdown does the first two. What it cannot know is what the timers were for, so the
// Scheduler keeps a list of its jobs, and after Shutdown nobody changes that list any more.
package main

import (
	"context"
	"fmt"
	"log"
	"maps"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/foliot-go/foliot"
)

// A Scheduler runs each job when it is due.
type Scheduler struct {
	rt *foliot.Runtime

	mu      sync.Mutex
	waiting map[string]time.Duration // jobs that have not begun, with their delays
}

// Add runs a job after d. It returns foliot.ErrClosed once Close has been called.
func (s *Scheduler) Add(name string, d time.Duration, job func()) error {
	s.mu.Lock()
	defer s.mu.Unlock() // a job that is due immediately has to wait until it is on the list
	_, err := s.rt.AfterFunc(d, func() {
		s.mu.Lock()
		delete(s.waiting, name)
		s.mu.Unlock()
		job()
	})
	if err == nil {
		s.waiting[name] = d
	}
	return err
}

// Close waits for the jobs that are running, until ctx ends, and returns those that have not
// begun. After an error jobs are still running. The caller may call Close again, or exit.
func (s *Scheduler) Close(ctx context.Context) (left map[string]time.Duration, err error) {
	if _, err := s.rt.Shutdown(ctx); err != nil {
		return nil, fmt.Errorf("jobs are still running: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.waiting), nil
}

func main() {
	// Jobs take long, so each gets a goroutine. By default callbacks share the workers' goroutines.
	rt, err := foliot.New(foliot.Options{Go: func(f func()) { go f() }})
	if err != nil {
		log.Fatal(err)
	}
	s := &Scheduler{rt: rt, waiting: make(map[string]time.Duration)}

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	ctx, terminate := context.WithCancel(ctx) // stands for the signal, so that the program ends by itself
	finish := make(chan struct{})
	add := func(name string, d time.Duration, job func()) {
		if err := s.Add(name, d, job); err != nil {
			fmt.Printf("%s: %v\n", name, err)
		}
	}
	add("backup", 0, func() {
		fmt.Println("backup: started")
		terminate()
		<-finish
		fmt.Println("backup: finished")
	})
	add("invoices", time.Hour, func() { fmt.Println("invoices: an hour early") })
	add("reminders", 2*time.Hour, func() { fmt.Println("reminders: two hours early") })

	<-ctx.Done()
	stop() // a second signal kills the process

	fmt.Println("shutting down")
	grace, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = s.Close(grace) // the backup takes longer than that
	fmt.Println("after 20ms:", err)
	add("cleanup", 0, func() { fmt.Println("cleanup: after the end") })

	close(finish)
	left, err := s.Close(context.Background()) // waits for as long as it takes
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		fmt.Printf("%s: saved for the next start, due in %v\n", name, left[name])
	}
}
