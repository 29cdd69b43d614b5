package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

func newScheduler(t *testing.T) *Scheduler {
	t.Helper()
	s, err := NewScheduler()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func add(t *testing.T, s *Scheduler, name string, d time.Duration, job func()) {
	t.Helper()
	if err := s.Add(name, d, job); err != nil {
		t.Fatal(err)
	}
}

func TestCloseWaitsForARunningJobAndReturnsTheOthers(t *testing.T) {
	s := newScheduler(t)
	begun, finish, done := make(chan struct{}), make(chan struct{}), false
	add(t, s, "now", 0, func() {
		close(begun)
		<-finish
		done = true
	})
	add(t, s, "later", time.Hour, func() { t.Error("a job ran an hour early") })
	<-begun

	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Close(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Close while a job runs: %v", err)
	}
	close(finish)
	left, err := s.Close(t.Context())
	if err != nil || !done {
		t.Errorf("Close: %v; the job has finished: %t", err, done)
	}
	if _, ok := left["later"]; !ok || len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

func TestAClosedSchedulerAcceptsNoJob(t *testing.T) {
	s := newScheduler(t)
	if left, err := s.Close(t.Context()); len(left) != 0 || err != nil {
		t.Errorf("Close: %v, %v", left, err)
	}
	if err := s.Add("late", 0, func() { t.Error("the job ran") }); !errors.Is(err, foliot.ErrClosed) {
		t.Errorf("Add: %v", err)
	}
	if waiting, running, finished := s.Counts(); waiting+running+finished != 0 {
		t.Errorf("%d waiting, %d running, %d finished", waiting, running, finished)
	}
}

func TestAWaitingJobIsNotReplaced(t *testing.T) {
	s := newScheduler(t)
	add(t, s, "one", time.Hour, func() {})
	if err := s.Add("one", time.Hour, func() {}); err == nil {
		t.Error("a second job of the same name was accepted")
	}
	if left, err := s.Close(t.Context()); len(left) != 1 || err != nil {
		t.Errorf("Close: %v, %v", left, err)
	}
}

func TestNoJobIsLostInAShutdownUnderLoad(t *testing.T) {
	var out strings.Builder
	args := strings.Fields("-for 300ms -every 50us -within 600ms -work 5ms -grace 1m")
	if err := run(args, &out); err != nil || !strings.Contains(out.String(), "jobs scheduled") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestAGracePeriodThatIsTooShortIsAnError(t *testing.T) {
	var out strings.Builder
	args := strings.Fields("-for 100ms -within 1ms -work 1s -grace 1ms")
	if err := run(args, &out); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "still running") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestInvalidFlagsAreErrors(t *testing.T) {
	for _, args := range []string{"-for -1s", "-every 0s", "-within 0s", "-work -1s", "-grace -1s", "-no-such-flag", "extra"} {
		if err := run(strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}
