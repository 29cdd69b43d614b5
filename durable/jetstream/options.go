package jetstream

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// Options are options of [Open]. The zero Options are for one server or for tests.
type Options struct {
	// Stream is the name of the stream, and the first token of its subjects. Empty means FOLIOT. It has
	// 1 to 63 of the characters a-z, A-Z, 0-9, _ and -.
	Stream string

	// Replicas is the number of servers that keep each timer. It is used when the stream is made: 0
	// means 1 then. If the stream exists, it must have this number; 0 means that any number will do.
	Replicas int

	// Standby is how long a process waits for another one that should fire a timer, before it fires the
	// timer itself. 0 means 150 ms.
	Standby time.Duration

	// Partitions is the number of streams among which the timers are divided. 0 means 1, or as many as
	// there are.
	Partitions int

	// Outcomes is how long the stream keeps the outcome of a timer. 0 means 10 minutes. A process that
	// was cut off for longer than a half of it reads the whole stream again. At least a minute.
	Outcomes time.Duration

	// MaxBytes is the size of each stream, when it is made. 0 means no bound. A stream that is full
	// refuses timers, and keeps those that it has.
	MaxBytes int64

	// Synced says that all servers sync each message to the disk before they acknowledge it, with
	// sync_interval: always. Then Open does not log that a power cut may lose timers. A client cannot
	// find that out.
	Synced bool

	// Logger gets what is worth knowing. nil means slog.Default().
	Logger *slog.Logger
}

const (
	defaultStream   = "FOLIOT"
	defaultStandby  = 150 * time.Millisecond
	defaultOutcomes = 10 * time.Minute
	maxPartitions   = 64
)

// withDefaults returns the options with defaults in place of zeros, or an error that names the field.
// Replicas and Partitions may stay 0.
func (o Options) withDefaults() (Options, error) {
	invalid := func(field string, value any, allowed string) error {
		return fmt.Errorf("%w: jetstream.Options.%s is %v; it must be %s", durable.ErrInvalid, field, value, allowed)
	}
	if o.Stream == "" {
		o.Stream = defaultStream
	}
	if o.Standby == 0 {
		o.Standby = defaultStandby
	}
	if o.Outcomes == 0 {
		o.Outcomes = defaultOutcomes
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	switch {
	case !isPlain(o.Stream) || len(o.Stream) > 63:
		return o, invalid("Stream", fmt.Sprintf("%q", o.Stream), "1 to 63 of the characters a-z, A-Z, 0-9, _ and -")
	case o.Replicas < 0 || o.Replicas > 5:
		return o, invalid("Replicas", o.Replicas, "from 0 to 5")
	case o.Standby < 0:
		return o, invalid("Standby", o.Standby, "0 or more")
	case o.Partitions < 0 || o.Partitions > maxPartitions:
		return o, invalid("Partitions", o.Partitions, fmt.Sprintf("from 0 to %d", maxPartitions))
	case o.Outcomes < time.Minute:
		return o, invalid("Outcomes", o.Outcomes, "0 or at least a minute")
	case o.MaxBytes < 0:
		return o, invalid("MaxBytes", o.MaxBytes, "0 or more")
	}
	return o, nil
}
