package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/foliot-go/foliot"
)

// A session is a task. Its timers are values in here.
type session struct {
	fleet   *fleet
	sample  *sample // nil for most
	beat    foliot.Interval
	timeout foliot.Delay
	first   time.Duration // when it was first polled
	sent    int32         // heartbeats
	begun   bool
	silent  bool
}

// Poll sends the heartbeats that are due, and ends the session when it has sent all, or
// when nothing was heard for too long.
func (s *session) Poll(cx *foliot.Context) foliot.Status {
	f := s.fleet
	if !s.begun {
		s.begun = true
		s.first = cx.Now()
		s.sample.begin(func() { s.beat.Poll(cx) })
	}
	if ticks := s.beat.Poll(cx); ticks > 0 {
		if cx.Now() < s.first+time.Duration(int(s.sent)+ticks)*f.beat {
			f.early.Add(1)
		}
		s.sample.sent(f, int(s.sent)+1)
		for range min(ticks, f.due(s.silent)-int(s.sent)) {
			s.sent++
			if f.peer(s.silent) {
				s.timeout.Reset(f.idle)
			}
		}
		if !s.silent && int(s.sent) == f.due(false) {
			f.ended(false, false, int(s.sent))
			return foliot.Done
		}
	}
	if s.timeout.Poll(cx) {
		f.ended(s.silent, true, int(s.sent))
		return foliot.Done
	}
	return foliot.Pending
}

// tasks runs the sessions as tasks, and prints a row about them.
func tasks(ctx context.Context, c config, out io.Writer) (row, error) {
	rt, err := foliot.New(foliot.Options{Slack: c.slack})
	if err != nil {
		return row{}, err
	}
	// Burst: a heartbeat that is late is sent all the same.
	beat, err := foliot.NewInterval(c.beat, foliot.Burst)
	if err != nil {
		return row{}, err
	}
	f := newFleet(c)
	r, err := f.run(ctx, func(i int) error {
		_, err := rt.Spawn(&session{
			fleet:   f,
			beat:    beat,
			timeout: foliot.NewDelay(c.idle),
			silent:  f.isSilent(i),
			sample:  f.sampleOf(i),
		})
		return err
	}, func() uint64 { return rt.Stats().Polls })
	return r, errors.Join(err, f.conclude("tasks", r, err, out), closeRuntime(rt, err == nil))
}

// closeRuntime shuts a runtime down. If the sessions have come to their end, there is
// nothing left on it.
func closeRuntime(rt *foliot.Runtime, ended bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for ended && rt.Stats().Tasks > 0 { // the last session has ended, but its Poll may not have returned
		if err := foliot.Default().Sleep(ctx, time.Millisecond); err != nil {
			return fmt.Errorf("%d tasks are left though all sessions have ended", rt.Stats().Tasks)
		}
	}
	armed, err := rt.Shutdown(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("waiting for the last polls: %w", err)
	case ended && armed != 0:
		return fmt.Errorf("%d timers are armed though all sessions have ended", armed)
	}
	return nil
}
