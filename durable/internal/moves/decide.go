package moves

import (
	"fmt"

	"github.com/foliot-go/foliot/durable"
)

// Check returns an error if a timer is not as a condition demands.
func (r *Record) Check(id string, c durable.Condition) error {
	switch {
	case c.Absent && r.State != None:
		return fmt.Errorf("%w (ID %q, revision %d)", durable.ErrExists, id, r.Rev)
	case c.HasRev && r.State == None:
		return fmt.Errorf("%w (ID %q: there is no timer, not one of revision %d)", durable.ErrRev, id, c.Rev)
	case c.HasRev && !r.State.IsArmed():
		return fmt.Errorf("%w (ID %q: revision %d is being handled)", durable.ErrRev, id, r.Rev)
	case c.HasRev && r.Rev != c.Rev:
		return fmt.Errorf("%w (ID %q: it has revision %d, not %d)", durable.ErrRev, id, r.Rev, c.Rev)
	}
	return nil
}

// Arm makes the record that of a timer that is armed, under a revision.
func (r *Record) Arm(t *durable.Timer, rev uint64) {
	r.Move(Schedule) // legal in each state
	r.Kind, r.Every, r.Payload = t.Kind, int64(t.Every), uint32(len(t.Payload))
	if t.ByNext {
		r.Every = byNext
	}
	r.At, r.Rev, r.Series, r.Missed = t.At.UnixNano(), rev, rev, 0
}

// Cancel removes what is armed. It returns false and changes nothing if nothing is armed, or if the timer is
// not as a condition demands.
func (r *Record) Cancel(id string, c durable.Condition) (bool, error) {
	if r.State == None {
		return false, nil
	}
	if !r.State.IsArmed() && (!c.HasRev || c.Rev == r.Rev) {
		return false, nil // it is being handled
	}
	if err := r.Check(id, c); err != nil {
		return false, err
	}
	return r.Move(Cancel), nil
}

// Next returns what happens to a timer at a time, if anything does. running says that the process that
// handles it has not ended. attempts is the number of attempts after which one that was cut off is repeated
// once only; -1 means any number. Tick stands for Fire, too, if it is the last occurrence of a
// periodic timer: Due.Event knows.
func (r *Record) Next(now int64, running bool, attempts int) (Event, bool) {
	cutOff := r.State.IsHandling() && !running
	switch {
	case (r.State == Armed || r.State.HasBoth()) && r.At <= now && r.Every != 0:
		return Tick, true
	case r.State == Armed && r.At <= now:
		return Fire, true
	case cutOff && attempts > 0 && int(r.Occurrence.Attempt) > attempts:
		return Die, true
	case cutOff:
		return Resume, true
	case r.State.IsRetrying() && r.Occurrence.RetryAt <= now:
		return Retry, true
	}
	return 0, false
}

// OrSkip returns the event for a timer that is due: another one if its latest occurrence is before a time.
// The last occurrence of a periodic timer is not skipped while an older one has no outcome.
func (r *Record) OrSkip(e Event, d Due, before int64) Event {
	switch {
	case d.latest >= before:
	case e == Fire && r.State == Armed:
		return Skip
	case e == Tick:
		return SkipTick
	}
	return e
}

// CutOff is the error of an occurrence that is dead because processes have ended during its attempts.
const CutOff = "the process ended during the attempt"

// Happen changes a record by an event that Next, Due.Event or OrSkip has returned. rev returns the revision of
// the next occurrence of a periodic timer. fires says that an attempt starts: f is the occurrence then, without
// its payload. After Die it is the dead occurrence, with its error.
func (r *Record) Happen(id string, e Event, d Due, rev func() uint64) (f durable.Fire, fires bool) {
	cutOff := r.Fire(id)
	if !r.Move(e) {
		panic("moves: illegal move") // Next returns legal ones only
	}
	o := &r.Occurrence
	switch e {
	case Skip:
		return f, false
	case SkipTick:
		r.At, r.Rev, r.Missed = d.next, rev(), r.Missed+d.before+1
		return f, false
	case Die:
		cutOff.Error = CutOff
		return cutOff, false
	case Fire:
		r.At = d.latest
		*o = Occurrence{At: r.At, Rev: r.Rev, Attempt: 1, Missed: r.Missed + d.before}
	case Tick:
		*o = Occurrence{At: d.latest, Rev: r.Rev, Attempt: 1, Missed: r.Missed + d.before}
		r.At, r.Rev, r.Missed = d.next, rev(), 0
	case Retry, Resume:
		o.Attempt++
		o.RetryAt = 0
	}
	return r.Fire(id), true
}

// EndSeries ends the series of an occurrence with a revision, after which others have fired or are armed. It does what
// Cancel does. It returns false and changes nothing if the timer was scheduled anew since, or if Cancel would find
// nothing.
func (r *Record) EndSeries(rev uint64) bool {
	return r.Series <= rev && rev < r.Rev && r.Move(Cancel)
}

// Finish ends an attempt of the occurrence with a revision. ok reports whether it ended as end says, and
// changed whether the record has changed: it has not if the timer was replaced or cancelled, or if another
// occurrence has fired since and end is not durable.Ended.
func (r *Record) Finish(rev uint64, end durable.End) (ok, changed bool) {
	if !r.State.IsHandling() || r.Occurrence.Rev != rev {
		ok = end.How == durable.Ended && r.EndSeries(rev)
		return ok, ok
	}
	switch {
	case end.How == durable.Done:
		ok = r.Move(Done)
	case end.How == durable.Ended:
		ok = r.Move(End)
	case end.How == durable.Dead:
		ok = r.Move(Die)
	case r.State == ArmedHandling && end.Retry.UnixNano() >= r.At:
		r.Move(Yield)
	case end.How == durable.Postponed:
		ok = r.Move(Postpone)
		r.Occurrence.RetryAt = end.Retry.UnixNano()
		r.Occurrence.Attempt-- // Retry counts it again
	default:
		ok = r.Move(Again)
		r.Occurrence.RetryAt = end.Retry.UnixNano()
	}
	return ok, true
}
