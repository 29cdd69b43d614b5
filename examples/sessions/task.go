package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/foliot-go/foliot"
)

// A session is a task. Its timers are fields.
type session struct {
	group   *sessionGroup
	sample  *sample // nil for most sessions
	beat    foliot.Interval
	timeout foliot.Delay
	first   time.Duration // when it was first polled
	sent    int32         // heartbeats
	begun   bool
	silent  bool
}

// Poll sends the heartbeats that are due. It ends the session when all are sent, or when the
// peer has not answered for too long.
func (s *session) Poll(cx *foliot.Context) foliot.Status {
	g := s.group
	if !s.begun {
		s.begun = true
		s.first = cx.Now()
		s.sample.begin(func() { s.beat.Poll(cx) })
	}
	if ticks := s.beat.Poll(cx); ticks > 0 {
		if cx.Now() < s.first+time.Duration(int(s.sent)+ticks)*g.beat {
			g.early.Add(1)
		}
		s.sample.sent(g, int(s.sent)+1)
		for range min(ticks, g.beatsDue(s.silent)-int(s.sent)) {
			s.sent++
			if g.peerAnswers(s.silent) {
				s.timeout.Reset(g.idle)
			}
		}
		if !s.silent && int(s.sent) == g.beatsDue(false) {
			g.sessionEnded(false, false, int(s.sent))
			return foliot.Done
		}
	}
	if s.timeout.Poll(cx) {
		g.sessionEnded(s.silent, true, int(s.sent))
		return foliot.Done
	}
	return foliot.Pending
}

// tasks runs the sessions as tasks and prints their row.
func tasks(ctx context.Context, c config, out io.Writer) (row, error) {
	rt, err := foliot.New(foliot.Options{Slack: c.slack})
	if err != nil {
		return row{}, err
	}
	// Burst: heartbeats that are late are sent anyway.
	beat, err := foliot.NewInterval(c.beat, foliot.Burst)
	if err != nil {
		return row{}, err
	}
	g := newSessionGroup(c)
	r, err := g.run(ctx, func(i int) error {
		_, err := rt.Spawn(&session{
			group:   g,
			beat:    beat,
			timeout: foliot.NewDelay(c.idle),
			silent:  g.isSilent(i),
			sample:  g.sampleOf(i),
		})
		return err
	}, func() uint64 { return rt.Stats().Polls })
	return r, errors.Join(err, g.report("tasks", r, err, out), closeRuntime(rt, err == nil))
}

// closeRuntime shuts down a runtime. If all sessions have ended, it returns an error if tasks
// or timers are left.
func closeRuntime(rt *foliot.Runtime, ended bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for ended && rt.Stats().Tasks > 0 { // the last session has ended, but its Poll may not have returned
		if err := foliot.Default().Sleep(ctx, time.Millisecond); err != nil {
			return fmt.Errorf("%d tasks are left although all sessions have ended", rt.Stats().Tasks)
		}
	}
	armed, err := rt.Shutdown(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("waiting for the last polls: %w", err)
	case ended && armed != 0:
		return fmt.Errorf("%d timers are armed although all sessions have ended", armed)
	}
	return nil
}
