package kvstore

import (
	"bytes"
	"fmt"
	"math"

	"github.com/foliot-go/foliot/durable/internal/moves"
)

// A Report is what Verify has found.
type Report struct {
	Timers  int      // timers
	Dead    int      // dead timers
	Damages []string // what is wrong, at most maxDamages
	More    int      // how many other things are wrong
}

// maxDamages is how many damages a report names.
const maxDamages = 1000

func (r *Report) damage(format string, args ...any) {
	if len(r.Damages) == maxDamages {
		r.More++
		return
	}
	r.Damages = append(r.Damages, fmt.Sprintf(format, args...))
}

// Verify checks that each record can be read and has its payload and its keys in the indexes, and that
// each of these has its record. It returns an error if the engine does.
func Verify(e Engine) (Report, error) {
	v := verifier{engine: e}
	last, err := lastRev(e)
	if err != nil {
		return v.report, err
	}
	v.last = last
	err = e.Scan([]byte{0}, bytes.Repeat([]byte{0xff}, 300), func(k, value []byte) bool {
		v.check(k, value)
		return v.err == nil
	})
	if err == nil {
		err = v.err
	}
	return v.report, err
}

// A verifier checks the keys of a store.
type verifier struct {
	engine Engine
	last   uint64 // the last revision that was reserved
	report Report
	err    error // of the engine
}

func (v *verifier) get(key []byte) []byte {
	b, err := v.engine.Get(key)
	if err != nil {
		v.err = err
	}
	return b
}

// check checks a key and its value.
func (v *verifier) check(k, value []byte) {
	id := string(k[1:])
	switch k[0] {
	case recordPrefix:
		v.report.Timers++
		v.record(id, value)
	case deadPrefix:
		v.report.Dead++
		if d, err := moves.DecodeDead(id, value); err != nil {
			v.report.damage("dead timer %q: %v", id, err)
		} else if d.Fire.Rev > v.last {
			v.report.damage("dead timer %q: it has revision %d, and only %d are reserved", id, d.Fire.Rev, v.last)
		}
	case payloadPrefix:
		v.owner(k, id, func(r *moves.Record) bool { return !isInline(r) })
	case bothPrefix:
		v.owner(k, id, func(r *moves.Record) bool { return r.State == moves.ArmedHandling })
	case duePrefix, retryPrefix:
		at, id, ok := splitTimeKey(k)
		if !ok {
			v.report.damage("the key %q is damaged", k)
			return
		}
		v.owner(k, id, func(r *moves.Record) bool {
			if k[0] == duePrefix {
				return r.At == at
			}
			return r.State.IsRetrying() && r.Occurrence.RetryAt == at
		})
	case metaPrefix:
		if !bytes.Equal(k, formatKey) && !bytes.Equal(k, revKey) {
			v.report.damage("the key %q is unknown", k)
		}
	default:
		v.report.damage("the key %q is unknown", k)
	}
}

// owner checks that the timer of a key has a record that demands the key.
func (v *verifier) owner(k []byte, id string, demands func(*moves.Record) bool) {
	b := v.get(key(recordPrefix, id))
	if b == nil {
		v.report.damage("the key %q is there, and timer %q is not", k, id)
		return
	}
	if r, _, err := decodeRecord(b); err == nil && !demands(&r) {
		v.report.damage("the key %q is there, and the record of timer %q says otherwise", k, id)
	}
}

// record checks the record of a timer.
func (v *verifier) record(id string, value []byte) {
	r, _, err := decodeRecord(value)
	if err != nil {
		v.report.damage("timer %q: %v", id, err)
		return
	}
	missing := func(what string, key []byte) {
		if v.get(key) == nil {
			v.report.damage("timer %q: its key in the index %s is missing", id, what)
		}
	}
	missing("by time", dueKey(r.At, id))
	if r.State.IsRetrying() {
		missing("of attempts", retryKey(r.Occurrence.RetryAt, id))
	}
	if r.State == moves.ArmedHandling {
		missing("of timers that are handled", key(bothPrefix, id))
	}
	if !isInline(&r) {
		if n := len(v.get(key(payloadPrefix, id))); n != int(r.Payload) {
			v.report.damage("timer %q: its payload has %d bytes, and its record says %d", id, n, r.Payload)
		}
	}
	if rev := max(r.Rev, r.Occurrence.Rev); rev > v.last {
		v.report.damage("timer %q: it has revision %d, and only %d are reserved", id, rev, v.last)
	}
	if r.Series > r.Rev {
		v.report.damage("timer %q: it has revision %d, and its series began with %d", id, r.Rev, r.Series)
	}
	first := uint32(1)
	if r.State.IsRetrying() {
		first = 0 // it was postponed
	}
	if r.State.HasOccurrence() && (r.Occurrence.Attempt < first || r.Occurrence.Attempt == math.MaxUint32) {
		v.report.damage("timer %q: its attempt is number %d", id, r.Occurrence.Attempt)
	}
}
