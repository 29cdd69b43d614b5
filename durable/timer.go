package durable

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Timer is a deadline that outlives the process. It names its handler by Kind, because a
// function cannot be stored.
type Timer struct {
	// ID names the timer: 1 to 255 bytes of UTF-8 without control characters. A store has at most
	// one timer with an ID. IDs sort bytewise.
	ID string

	// At is the time at which the timer is due, by the wall clock. It is kept to the nanosecond.
	// Handlers, Get and List have it in the local time zone: compare it with Equal.
	At time.Time

	// Kind names the handler: 1 to 63 letters, digits, underscores and hyphens of ASCII.
	Kind string

	// Payload is given to the handler. It is at most Options.MaxPayload bytes long.
	Payload []byte

	// Every makes the timer periodic: it is due at At, At+Every, At+2*Every and so on. It is at
	// least a millisecond. 0 means once, unless ByNext is set.
	Every time.Duration

	// ByNext makes the timer periodic, too: At is its first occurrence, and the function that
	// [Scheduler.HandleNext] has set for its kind says which one follows. Every must be 0.
	ByNext bool

	// Rev is the revision of the timer. The store sets it: each change of a timer gives it a
	// greater one. It may be greater by far. Schedule ignores it.
	Rev uint64
}

// A Fire is one occurrence of a timer, given to its handler.
type Fire struct {
	Timer

	// Attempt counts the calls of the handler for this occurrence, except for those that [Postpone] has
	// ended. It is 1 the first time.
	Attempt int

	// Missed is the number of occurrences of a periodic timer that were passed over since the last
	// one that fired, because no process ran or no handler was free. With ByNext it is at most about
	// a thousand.
	Missed int

	// Late is how long after At the handler was started.
	Late time.Duration

	// Error says why the last attempt of a dead timer failed: the text of the error, of which the first
	// KiB is kept. It is empty unless Dead has returned the Fire.
	Error string
}

// Key returns a name of the occurrence: ID and Rev. It is the same for each attempt, and different
// for each occurrence of a periodic timer and after each change of the timer. A handler that must
// not do its work twice remembers the keys of what it has done.
func (f Fire) Key() string { return f.ID + "@" + strconv.FormatUint(f.Rev, 10) }

const (
	maxID      = 255
	maxKind    = 63
	minEvery   = time.Millisecond
	maxPayload = 64 << 10
	maxError   = 1 << 10
)

// lastAt is the latest time that an At can have: the end of the year 2261. So a time is an int64 of
// nanoseconds, with some room to add a retry.
var lastAt = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC).Add(-1)

// firstAt is the earliest time that an At can have.
var firstAt = time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC)

// check returns an error that wraps ErrInvalid or ErrTooLarge if a store must not keep the timer.
func (t *Timer) check(payload int) error {
	if err := checkID(t.ID); err != nil {
		return err
	}
	if err := checkKind(t.Kind); err != nil {
		return err
	}
	switch {
	case t.At.IsZero():
		return fmt.Errorf("%w: At of timer %q is zero; set the time at which it is due", ErrInvalid, t.ID)
	case t.At.After(lastAt):
		return fmt.Errorf("%w: At of timer %q is %v; the year must be at most 2261", ErrInvalid, t.ID, t.At)
	case t.At.Before(firstAt):
		return fmt.Errorf("%w: At of timer %q is %v; the year must be at least 1678", ErrInvalid, t.ID, t.At)
	case t.ByNext && t.Every != 0:
		return fmt.Errorf("%w: timer %q has ByNext, and Every is %v; it must be 0 then", ErrInvalid, t.ID, t.Every)
	case t.Every != 0 && t.Every < minEvery:
		return fmt.Errorf("%w: Every of timer %q is %v; it must be 0 or at least %v", ErrInvalid, t.ID, t.Every, minEvery)
	case len(t.Payload) > payload:
		return fmt.Errorf("%w: Payload of timer %q has %d bytes; at most %d are allowed: store it elsewhere and schedule its name",
			ErrTooLarge, t.ID, len(t.Payload), payload)
	}
	return nil
}

// boundedError returns the text of an error as Fire.Error has it: valid UTF-8 of at most maxError bytes.
func boundedError(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxError {
		return text
	}
	end := maxError
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

func checkID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: ID is empty; it must have 1 to %d bytes", ErrInvalid, maxID)
	case len(id) > maxID:
		return fmt.Errorf("%w: ID has %d bytes; it must have 1 to %d bytes", ErrInvalid, len(id), maxID)
	case !utf8.ValidString(id):
		return fmt.Errorf("%w: ID %q is not UTF-8", ErrInvalid, id)
	}
	for _, r := range id {
		if unicode.IsControl(r) {
			return fmt.Errorf("%w: ID %q has the control character %U", ErrInvalid, id, r)
		}
	}
	return nil
}

func checkKind(kind string) error {
	if kind == "" || len(kind) > maxKind {
		return fmt.Errorf("%w: Kind %q has %d bytes; it must have 1 to %d", ErrInvalid, kind, len(kind), maxKind)
	}
	for i := range len(kind) {
		switch c := kind[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return fmt.Errorf("%w: Kind %q has the character %q; letters, digits, _ and - of ASCII are allowed", ErrInvalid, kind, c)
		}
	}
	return nil
}
