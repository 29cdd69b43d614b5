package serve

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// This file has what serve builds on top of package durable: pauses that a receiver asks for, the end of a
// series, calendars, and the errors of dead timers.

// retryAfter returns the error of a handler whose next attempt comes after a pause, if that is not 0.
func retryAfter(err error, _ time.Duration) error { return err }

// unsent ends an attempt in which nothing was sent.
func (s *server) unsent(f *durable.Fire, e *envelope, err error) error {
	s.failed(f, e, 0, err)
	return err
}

// endSeries ends an occurrence that is done, and all later ones of the same series. A timer with the same ID
// that was made meanwhile has another series, and stays.
func endSeries(ctx context.Context, d *durable.Scheduler, f *durable.Fire, e *envelope) error {
	if f.Every == 0 {
		return errSeriesEnds
	}
	for {
		t, ok, err := d.Get(ctx, f.ID)
		if err != nil || !ok {
			return err
		}
		if now, err := decodeEnvelope(t.Payload); err != nil || now.Series != e.Series {
			return nil
		}
		if _, err := d.Cancel(ctx, f.ID, durable.IfRev(t.Rev)); !errors.Is(err, durable.ErrRev) {
			return err
		}
	}
}

// errSeriesEnds is the result of an occurrence of a calendar that is the last one.
var errSeriesEnds = errors.New("the series ends")

// handleNext sets the handler of timers that follow a calendar. When an occurrence is over, the next one is
// armed.
func handleNext(d *durable.Scheduler, kind string, h durable.Handler, attempts int) {
	d.Handle(kind, func(ctx context.Context, f durable.Fire) error {
		err := h(ctx, f)
		switch {
		case errors.Is(err, errSeriesEnds):
			return nil
		case err != nil && !errors.Is(err, durable.Drop):
			return err
		}
		now, ok, failed := d.Get(ctx, f.ID)
		if failed != nil || !ok || now.Rev != f.Rev {
			return failed // it was replaced or cancelled
		}
		t := f.Timer
		if t.At = nextOccurrence(t, time.Now()); !t.At.IsZero() {
			_, failed = d.Schedule(ctx, t)
		}
		return failed
	})
}

// loaded reports whether a scheduler that runs has brought its timers into memory.
func loaded(st *durable.Stats) bool {
	return st.Exact && st.Loaded+st.Running+st.Unhandled >= min(st.Pending, 1<<20)
}

// deadErrors remembers why the latest timers died, by their keys.
type deadErrors struct {
	mu   sync.Mutex // protects what follows
	why  map[string]string
	keys []string // in the order of their deaths, as a ring
	next int
}

const keepDeadErrors = 10_000

func (d *deadErrors) add(key string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.why == nil {
		d.why, d.keys = make(map[string]string), make([]string, keepDeadErrors)
	}
	delete(d.why, d.keys[d.next])
	d.keys[d.next] = key
	d.next = (d.next + 1) % len(d.keys)
	d.why[key] = err.Error()
}

// deadError returns why a timer died.
func (s *server) deadError(f *durable.Fire) string {
	s.dead.mu.Lock()
	defer s.dead.mu.Unlock()
	if why, ok := s.dead.why[f.Key()]; ok {
		return why
	}
	return "the reason is in the log"
}
