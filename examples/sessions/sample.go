package main

import "time"

const (
	// sampleEvery: the lateness of every sampleEvery-th session is recorded.
	sampleEvery = 61

	// maxStartTime is how long starting the heartbeat may take. If it takes longer, the
	// start is not known exactly enough.
	maxStartTime = 50 * time.Microsecond
)

// A sample records how late the heartbeats of a session are. A nil sample records nothing.
// Nor does a sample whose session was delayed while it began: then it is not known when
// exactly the heartbeat started, and the error would look like lateness.
type sample struct {
	start time.Time // zero: not known
}

// sampleOf returns the sample of session i, which is nil for most sessions.
func (g *sessionGroup) sampleOf(i int) *sample {
	if i%sampleEvery != 0 {
		return nil
	}
	return new(sample)
}

// begin calls start, which starts the heartbeat, and records the time.
func (s *sample) begin(start func()) {
	if s == nil {
		start()
		return
	}
	before := time.Now()
	start()
	if time.Since(before) < maxStartTime {
		s.start = before
	}
}

// sent records that the heartbeat with the given number, counted from 1, is being sent.
func (s *sample) sent(g *sessionGroup, number int) {
	if s == nil || s.start.IsZero() || !g.measuring.Load() {
		return
	}
	late := time.Since(s.start) - time.Duration(number)*g.beat
	g.mu.Lock()
	g.lateness = append(g.lateness, late)
	g.mu.Unlock()
}
