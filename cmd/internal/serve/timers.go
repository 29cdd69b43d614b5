package serve

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// A Batch is the body of POST /v1/timers.
type Batch struct {
	Timers []NamedSpec `json:"timers" doc:"At most 1,000 timers."`
}

// A BatchResult is the response to a Batch.
type BatchResult struct {
	Timers []Revision `json:"timers"`
}

// A Revision names a timer that was made or replaced.
type Revision struct {
	ID  string `json:"id"`
	Rev uint64 `json:"rev"`
}

// A Cancelled is the response to DELETE /v1/timers/{id}.
type Cancelled struct {
	Cancelled bool `json:"cancelled"`
}

const maxBatch = 1000

// putTimer makes or replaces a timer.
func (s *server) putTimer(w http.ResponseWriter, r *http.Request) error {
	c, err := parseConditions(r.Header)
	if err != nil {
		return err
	}
	var spec Spec
	if err := decodeBody(r, &spec); err != nil {
		return err
	}
	t, err := spec.timer(r.PathValue("id"), time.Now())
	if err != nil {
		return err
	}
	made, err := s.schedule(r.Context(), &t, c)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", etag(t.Rev))
	status := http.StatusOK
	if made {
		status = http.StatusCreated
	}
	return writeJSON(w, status, spec.shown(&t))
}

// schedule schedules a timer under conditions and sets its revision. It reports whether there was none
// before.
func (s *server) schedule(ctx context.Context, t *durable.Timer, c conditions) (made bool, err error) {
	d := s.scheduler()
	if c.match {
		err := s.withRev(ctx, t.ID, c, func(on durable.If) (err error) {
			t.Rev, err = d.Schedule(ctx, *t, on)
			return err
		})
		return false, err
	}
	t.Rev, err = d.Schedule(ctx, *t, durable.IfAbsent())
	switch {
	case !errors.Is(err, durable.ErrExists):
		return true, err
	case c.absent:
		return false, problem(http.StatusPreconditionFailed, "There is a timer with this ID. Read it and decide anew, or leave out If-None-Match to replace it.")
	}
	t.Rev, err = d.Schedule(ctx, *t)
	return false, err
}

// withRev calls change with a condition for the revision that If-Match demands. Of several revisions the
// timer can have one only, so that one is looked up; it may change before it is used.
func (s *server) withRev(ctx context.Context, id string, c conditions, change func(on durable.If) error) error {
	if !c.any && len(c.revs) == 1 {
		return change(durable.IfRev(c.revs[0]))
	}
	const tries = 10
	for range tries {
		t, ok, err := s.scheduler().Get(ctx, id)
		if err != nil {
			return err
		}
		matches := c.any
		for _, rev := range c.revs {
			matches = matches || rev == t.Rev
		}
		if !ok || !matches {
			break
		}
		if err := change(durable.IfRev(t.Rev)); !errors.Is(err, durable.ErrRev) {
			return err
		}
	}
	return durable.ErrRev
}

func (s *server) getTimer(w http.ResponseWriter, r *http.Request) error {
	t, ok, err := s.scheduler().Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if !ok {
		return problem(http.StatusNotFound, "There is no timer with this ID: it is done or cancelled, or was never made. /v1/dead has those that gave up.")
	}
	w.Header().Set("ETag", etag(t.Rev))
	if notModified(r.Header, t.Rev) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return writeJSON(w, http.StatusOK, show(&t))
}

func (s *server) deleteTimer(w http.ResponseWriter, r *http.Request) error {
	c, err := parseConditions(r.Header)
	if err != nil {
		return err
	}
	if c.absent {
		return badRequest("If-None-Match: * demands that there is no timer, and then there is nothing to cancel. Use If-Match, or no condition.")
	}
	id, d := r.PathValue("id"), s.scheduler()
	var ok bool
	if c.match {
		err = s.withRev(r.Context(), id, c, func(on durable.If) (err error) {
			ok, err = d.Cancel(r.Context(), id, on)
			return err
		})
	} else {
		ok, err = d.Cancel(r.Context(), id)
	}
	if err != nil {
		return err
	}
	if !ok {
		return problem(http.StatusNotFound, "Nothing is armed for this ID: the timer is done, is being handled now, was cancelled, or was never made.")
	}
	return writeJSON(w, http.StatusOK, Cancelled{true})
}

// postTimers makes or replaces many timers, all or none.
func (s *server) postTimers(w http.ResponseWriter, r *http.Request) error {
	for _, name := range []string{"If-Match", "If-None-Match"} {
		if len(r.Header.Values(name)) > 0 {
			return badRequest("%s is not possible with a batch, because each timer has its own revision. Use PUT for each timer, or leave out the header.", name)
		}
	}
	var batch Batch
	if err := decodeBody(r, &batch); err != nil {
		return err
	}
	ts, err := batch.durable(time.Now())
	if err != nil {
		return err
	}
	result := BatchResult{Timers: make([]Revision, len(ts))}
	if len(ts) > 0 {
		revs, err := s.scheduler().ScheduleBatch(r.Context(), ts)
		if err != nil {
			return err
		}
		for i, rev := range revs {
			result.Timers[i] = Revision{ts[i].ID, rev}
		}
	}
	return writeJSON(w, http.StatusOK, result)
}

// durable returns the durable timers of a batch.
func (b *Batch) durable(now time.Time) ([]durable.Timer, error) {
	if b.Timers == nil {
		return nil, badRequest("There is no field timers; send a list of at most %d timers.", maxBatch)
	}
	if len(b.Timers) > maxBatch {
		return nil, badRequest("There are %d timers; at most %d are allowed. Send several requests.", len(b.Timers), maxBatch)
	}
	ts := make([]durable.Timer, len(b.Timers))
	seen := make(map[string]bool, len(b.Timers))
	for i := range b.Timers {
		spec := &b.Timers[i]
		if seen[spec.ID] {
			return nil, badRequest("timers/%d: the ID %q occurs twice; send it once.", i, spec.ID)
		}
		seen[spec.ID] = true
		t, err := spec.timer(spec.ID, now)
		if err != nil {
			if p, ok := errors.AsType[*Problem](err); ok {
				p.Detail = "timers/" + itoa(i) + ": " + p.Detail
			}
			return nil, err
		}
		ts[i] = t
	}
	return ts, nil
}
