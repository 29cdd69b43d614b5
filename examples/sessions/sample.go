package main

import "time"

const (
	// sampling is how many sessions there are for each whose lateness is noted.
	sampling = 61

	// vague is how long the start of a heartbeat may take for its lateness to be told.
	vague = 50 * time.Microsecond
)

// A sample notes how late the heartbeats of a session are. A nil sample notes
// nothing, nor does one whose session was held up as it began: then
// it is not known when exactly the heartbeat started, and that would pass for lateness.
type sample struct {
	start time.Time // zero: not known
}

// sampleOf returns the sample of a session, nil for most.
func (f *fleet) sampleOf(i int) *sample {
	if i%sampling != 0 {
		return nil
	}
	return new(sample)
}

// begin calls start, which starts the heartbeat.
func (s *sample) begin(start func()) {
	if s == nil {
		start()
		return
	}
	before := time.Now()
	start()
	if time.Since(before) < vague {
		s.start = before
	}
}

// sent notes that the heartbeat of a number, counted from 1, is sent now.
func (s *sample) sent(f *fleet, number int) {
	if s == nil || s.start.IsZero() || !f.measuring.Load() {
		return
	}
	late := time.Since(s.start) - time.Duration(number)*f.beat
	f.mu.Lock()
	f.lateness = append(f.lateness, late)
	f.mu.Unlock()
}
