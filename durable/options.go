package durable

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/foliot-go/foliot"
)

// Options configure a Scheduler. The zero value has all defaults.
type Options struct {
	// Clock is the clock by which timers are due. nil means that of the system. With a
	// [foliot.ManualClock] everything happens in Advance: when it returns, the handlers of all
	// timers that came due have started, in the order of their deadlines. They may end later. A test
	// that needs their end waits for a channel that the handler closes, or for Run to return.
	Clock foliot.Clock

	// Concurrency is the number of handlers that run at the same time. 0 means 64. With 1, handlers
	// run one after the other in the order of their deadlines. With more, handlers of timers that are
	// due at about the same time overtake each other.
	Concurrency int

	// Retry says when a handler that has failed is called again.
	Retry Retry

	// Late says what becomes of timers that came due while no Run was running.
	Late Late

	// LateAfter is how late a timer must be at the begin of Run for LateSkip to skip it. 0 means a
	// minute.
	LateAfter time.Duration

	// Drain is how long Run waits for handlers after its context has ended. 0 means 30 s.
	Drain time.Duration

	// MaxPayload is the largest number of bytes in a payload. 0 means 64 KiB, which is also the
	// largest value.
	MaxPayload int

	// Logger logs failed attempts, panics of handlers, dead and skipped timers, kinds without a
	// handler, steps of the clock and the progress of a long load. nil means slog.Default().
	Logger *slog.Logger
}

// A Retry says when a handler that has failed is called again: after Min, then after twice the time
// of the last pause, but at most Max. Each pause is shortened at random by up to a half, but not
// below Min, so that handlers that have failed together do not come back together each time.
type Retry struct {
	Min      time.Duration // 0 means 1 s
	Max      time.Duration // 0 means 10 min, or Min if that is longer
	Attempts int           // the number of attempts of an occurrence; 0 means 16, 1 no retry, -1 any number
}

// Late says what becomes of timers that came due while no Run was running.
type Late int

const (
	LateFire Late = iota // they fire, the oldest first
	LateSkip             // those that are later than Options.LateAfter are skipped
)

const (
	defaultConcurrency = 64
	defaultAttempts    = 16
	defaultRetryMin    = time.Second
	defaultRetryMax    = 10 * time.Minute
	defaultLateAfter   = time.Minute
	defaultDrain       = 30 * time.Second
)

// withDefaults returns the options with defaults in place of zeros, or an error that names the field.
func (o Options) withDefaults() (Options, error) {
	invalid := func(field string, value any, allowed string) error {
		return fmt.Errorf("%w: Options.%s is %v; it must be %s", ErrInvalid, field, value, allowed)
	}
	switch {
	case o.Concurrency < 0:
		return o, invalid("Concurrency", o.Concurrency, "0 or more")
	case o.Retry.Min < 0:
		return o, invalid("Retry.Min", o.Retry.Min, "0 or more")
	case o.Retry.Max < 0 || o.Retry.Max > 0 && o.Retry.Max < o.Retry.Min:
		return o, invalid("Retry.Max", o.Retry.Max, "0 or at least Retry.Min")
	case o.Retry.Attempts < -1:
		return o, invalid("Retry.Attempts", o.Retry.Attempts, "-1 or more")
	case o.Late != LateFire && o.Late != LateSkip:
		return o, invalid("Late", int(o.Late), "LateFire or LateSkip")
	case o.LateAfter < 0:
		return o, invalid("LateAfter", o.LateAfter, "0 or more")
	case o.Drain < 0:
		return o, invalid("Drain", o.Drain, "0 or more")
	case o.MaxPayload < 0 || o.MaxPayload > maxPayload:
		return o, invalid("MaxPayload", o.MaxPayload, fmt.Sprintf("from 0 to %d", maxPayload))
	}
	setDefault(&o.Concurrency, defaultConcurrency)
	setDefault(&o.Retry.Min, defaultRetryMin)
	setDefault(&o.Retry.Max, max(defaultRetryMax, o.Retry.Min))
	setDefault(&o.Retry.Attempts, defaultAttempts)
	setDefault(&o.LateAfter, defaultLateAfter)
	setDefault(&o.Drain, defaultDrain)
	setDefault(&o.MaxPayload, maxPayload)
	setDefault(&o.Logger, slog.Default())
	return o, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// pause returns the time between the end of an attempt and the next.
func (r Retry) pause(attempt int) time.Duration {
	d := r.Max
	if shift := attempt - 1; shift < 62 && r.Min <= r.Max>>shift {
		d = r.Min << shift
	}
	return d - rand.N(min(d/2, d-r.Min)+1)
}

// exhausted reports whether an attempt that has failed was the last one.
func (r Retry) exhausted(attempt int) bool { return r.Attempts > 0 && attempt >= r.Attempts }
