package kvstore

import (
	"bytes"
	"fmt"
	"math"
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
		if d, err := decodeDead(id, value); err != nil {
			v.report.damage("dead timer %q: %v", id, err)
		} else if d.fire.Rev > v.last {
			v.report.damage("dead timer %q: it has revision %d, and only %d are reserved", id, d.fire.Rev, v.last)
		}
	case payloadPrefix:
		v.owner(k, id, func(r *record) bool { return !r.isInline() })
	case bothPrefix:
		v.owner(k, id, func(r *record) bool { return r.state == armedHandling })
	case duePrefix, retryPrefix:
		at, id, ok := splitTimeKey(k)
		if !ok {
			v.report.damage("the key %q is damaged", k)
			return
		}
		v.owner(k, id, func(r *record) bool {
			if k[0] == duePrefix {
				return r.at == at
			}
			return r.state.isRetrying() && r.occurrence.retryAt == at
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
func (v *verifier) owner(k []byte, id string, demands func(*record) bool) {
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
	missing("by time", dueKey(r.at, id))
	if r.state.isRetrying() {
		missing("of attempts", retryKey(r.occurrence.retryAt, id))
	}
	if r.state == armedHandling {
		missing("of timers that are handled", key(bothPrefix, id))
	}
	if !r.isInline() {
		if n := len(v.get(key(payloadPrefix, id))); n != int(r.payload) {
			v.report.damage("timer %q: its payload has %d bytes, and its record says %d", id, n, r.payload)
		}
	}
	if rev := max(r.rev, r.occurrence.rev); rev > v.last {
		v.report.damage("timer %q: it has revision %d, and only %d are reserved", id, rev, v.last)
	}
	if r.state.hasOccurrence() && (r.occurrence.attempt == 0 || r.occurrence.attempt == math.MaxUint32) {
		v.report.damage("timer %q: its attempt is number %d", id, r.occurrence.attempt)
	}
}
