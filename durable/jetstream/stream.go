package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// A streamConfig is what a store demands of a stream. It has the names of the API of the server.
type streamConfig struct {
	Name          string            `json:"name"`
	Description   string            `json:"description,omitempty"`
	Subjects      []string          `json:"subjects"`
	Retention     string            `json:"retention"`
	Storage       string            `json:"storage"`
	Discard       string            `json:"discard"`
	DiscardNewPer bool              `json:"discard_new_per_subject,omitempty"`
	Replicas      int               `json:"num_replicas"`
	MaxPerSubject int64             `json:"max_msgs_per_subject"`
	MaxMsgs       int64             `json:"max_msgs"`
	MaxBytes      int64             `json:"max_bytes"`
	MaxAge        time.Duration     `json:"max_age"`
	MaxMsgSize    int32             `json:"max_msg_size,omitempty"`
	AllowDirect   bool              `json:"allow_direct"`
	AllowTTL      bool              `json:"allow_msg_ttl"`
	AllowAtomic   bool              `json:"allow_atomic"`
	NoAck         bool              `json:"no_ack,omitempty"`
	Sealed        bool              `json:"sealed,omitempty"`
	PersistMode   string            `json:"persist_mode,omitempty"`
	Mirror        json.RawMessage   `json:"mirror,omitempty"`
	Sources       json.RawMessage   `json:"sources,omitempty"`
	Transform     json.RawMessage   `json:"subject_transform,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
}

// A streamInfo is what the server says of a stream.
type streamInfo struct {
	Config  streamConfig `json:"config"`
	Created time.Time    `json:"created"`
	State   struct {
		Messages uint64 `json:"messages"`
		Bytes    uint64 `json:"bytes"`
		FirstSeq uint64 `json:"first_seq"`
		LastSeq  uint64 `json:"last_seq"`
	} `json:"state"`
}

// Keys of the metadata of a stream.
const (
	metaPartitions = "foliot-partitions" // the number of streams
	metaBase       = "foliot-base"       // part.base
	metaMoving     = "foliot-moving"     // Repartition runs, or was cut off
)

const (
	minMajor, minMinor = 2, 12      // of the server: it has batches, and times to live of messages
	maxMessage         = 200 * 1024 // two payloads, and headers
)

// makeTries is how often a stream is tried to be made if there are not enough servers.
const makeTries = 12

// partitionName returns the name of the stream of a partition.
func partitionName(stream string, n int) string {
	if n == 0 {
		return stream
	}
	return fmt.Sprintf("%s-%d", stream, n)
}

// configOf returns the configuration of a stream that is made.
func configOf(name string, o Options, partitions int) streamConfig {
	c := streamConfig{
		Name:        name,
		Description: "durable timers of github.com/foliot-go/foliot",
		Subjects:    []string{name + timerToken + "*", name + barrierToken},
		Retention:   "limits", Storage: "file", Discard: "new", Replicas: max(o.Replicas, 1),
		MaxPerSubject: 1, MaxMsgs: -1, MaxBytes: -1,
		AllowDirect: true, AllowTTL: true, AllowAtomic: true,
		Metadata: map[string]string{metaPartitions: strconv.Itoa(partitions)},
	}
	if o.MaxBytes > 0 {
		c.MaxBytes = o.MaxBytes
	}
	return c
}

// misfits returns what is wrong with a stream that is there.
func misfits(got, want streamConfig, replicas int) (wrong []string) {
	differs := func(field string, is, must any) {
		wrong = append(wrong, fmt.Sprintf("%s is %v and must be %v", field, is, must))
	}
	subjects := slices.Clone(got.Subjects)
	slices.Sort(subjects)
	must := slices.Clone(want.Subjects)
	slices.Sort(must)
	if !slices.Equal(subjects, must) {
		differs("subjects", subjects, must)
	}
	for _, f := range []struct {
		name     string
		is, must any
	}{
		{"retention", got.Retention, want.Retention},
		{"storage", got.Storage, want.Storage},
		{"discard", got.Discard, want.Discard},
		{"discard_new_per_subject", got.DiscardNewPer, false},
		{"max_msgs_per_subject", got.MaxPerSubject, want.MaxPerSubject},
		{"max_age", got.MaxAge, time.Duration(0)},
		{"allow_direct", got.AllowDirect, true},
		{"allow_msg_ttl", got.AllowTTL, true},
		{"allow_atomic", got.AllowAtomic, true},
		{"no_ack", got.NoAck, false},
		{"sealed", got.Sealed, false},
	} {
		if f.is != f.must {
			differs(f.name, f.is, f.must)
		}
	}
	if got.PersistMode != "" && got.PersistMode != "default" {
		differs("persist_mode", got.PersistMode, "default")
	}
	if got.MaxMsgSize > 0 && got.MaxMsgSize < maxMessage {
		differs("max_msg_size", got.MaxMsgSize, fmt.Sprintf("-1 or at least %d", maxMessage))
	}
	if replicas != 0 && got.Replicas != replicas {
		differs("num_replicas", got.Replicas, replicas)
	}
	for name, raw := range map[string]json.RawMessage{"mirror": got.Mirror, "sources": got.Sources, "subject_transform": got.Transform} {
		if len(raw) > 0 && string(raw) != "null" {
			differs(name, string(raw), "unset")
		}
	}
	return wrong
}

// request sends a request to the API of the server, and returns the reply or the error in it.
func (s *Store) request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	m, err := s.nc.RequestWithContext(ctx, subject, data)
	if err != nil {
		if errors.Is(err, nats.ErrNoResponders) {
			err = errNoResponders
		}
		return nil, errors.Join(fmt.Errorf("there is no reply to a request on %s: %w", subject, err), s.permission(subject))
	}
	r := parseReply(m)
	return r.data, r.err
}

// permission returns an error if the server has refused a permission, and names the subject.
func (s *Store) permission(subject string) error {
	err := s.nc.LastError()
	if err == nil || !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	return fmt.Errorf("the server refuses a permission (the call was about %s; the package comment lists the permissions that are needed): %w", subject, err)
}

func (s *Store) streamInfo(ctx context.Context, stream string) (info streamInfo, err error) {
	b, err := s.request(ctx, s.api+"STREAM.INFO."+stream, nil)
	if err == nil {
		err = json.Unmarshal(b, &info)
	}
	return info, err
}

// checkServer returns an error if the server is too old or cannot take the messages.
func (s *Store) checkServer() error {
	version := s.nc.ConnectedServerVersion()
	if !isRecent(version) {
		return fmt.Errorf("jetstream: the server has version %s; a store needs %d.%d or later: it uses batches and times to live of messages", version, minMajor, minMinor)
	}
	if n := s.nc.MaxPayload(); n < maxMessage {
		return fmt.Errorf("jetstream: the server takes messages of up to %d bytes; a store needs %d: set max_payload in the configuration of the server", n, maxMessage)
	}
	return nil
}

// isRecent reports whether a version of the server has all that is needed.
func isRecent(version string) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err := strconv.Atoi(parts[0])
	if err != nil {
		return false
	}
	minor, err := strconv.Atoi(parts[1])
	return err == nil && (major > minMajor || major == minMajor && minor >= minMinor)
}

// openStreams looks at the streams, and makes those that are missing.
func (s *Store) openStreams(ctx context.Context) (infos []streamInfo, err error) {
	o := &s.opts
	first, err := s.streamInfo(ctx, o.Stream)
	missing := hasCode(err, codeNoStream)
	if err != nil && !missing {
		return nil, fmt.Errorf("jetstream: looking for the stream %s: %w", o.Stream, err)
	}
	count := max(o.Partitions, 1)
	if !missing {
		if first.Config.Metadata[metaMoving] != "" {
			return nil, fmt.Errorf("jetstream: the timers of %s are being moved to another number of partitions; call Repartition again if it was cut off", o.Stream)
		}
		had := partitionsOf(first)
		if o.Partitions != 0 && o.Partitions != had {
			return nil, fmt.Errorf("jetstream: the timers of %s are in %d partitions, and Options.Partitions is %d; set it to %d or 0, or call Repartition while no process uses them", o.Stream, had, o.Partitions, had)
		}
		count = had
	}
	for n := range count {
		name := partitionName(o.Stream, n)
		info, err := s.openStream(ctx, name, count)
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// partitionsOf returns the number of partitions that the first stream names.
func partitionsOf(info streamInfo) int {
	n, err := strconv.Atoi(info.Config.Metadata[metaPartitions])
	if err != nil {
		return 1
	}
	return n
}

// openStream looks at a stream, and makes it if it is missing. Several processes may do that at the same
// time: it looks first, and again after an error.
func (s *Store) openStream(ctx context.Context, name string, partitions int) (info streamInfo, err error) {
	want := configOf(name, s.opts, partitions)
	again := backoff{50 * time.Millisecond, 500 * time.Millisecond}
	for try := 0; ; try++ {
		info, err = s.look(ctx, name)
		if hasCode(err, codeNoStream) {
			var b []byte
			if b, err = json.Marshal(want); err != nil {
				return info, err
			}
			err = s.make(ctx, name, b)
			if err == nil {
				continue
			}
			// A cluster that has just begun may not know its servers yet.
			waiting := hasCode(err, codeNoPeers) && try < makeTries
			if !waiting && hasCode(err, 10074, codeNoPeers, 10023, 10047, 10002, 10122, 10052, 10065) {
				return info, fmt.Errorf("jetstream: the stream %s cannot be made: %w", name, err)
			}
		}
		switch {
		case err == nil:
			if wrong := misfits(info.Config, want, s.opts.Replicas); len(wrong) > 0 {
				return info, fmt.Errorf("jetstream: the stream %s does not fit: %s; change it, or use another name in Options.Stream", name, strings.Join(wrong, "; "))
			}
			return info, nil
		case ctx.Err() != nil || s.permission(name) != nil || errors.Is(err, nats.ErrConnectionClosed):
			return info, fmt.Errorf("jetstream: the stream %s can be neither read nor made: %w", name, err)
		}
		s.sleepUntil(ctx, again.pause())
	}
}

// look requests the information on a stream, within a bound.
func (s *Store) look(ctx context.Context, name string) (streamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	return s.streamInfo(ctx, name)
}

// make requests a new stream, within a bound.
func (s *Store) make(ctx context.Context, name string, config []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	_, err := s.request(ctx, s.api+"STREAM.CREATE."+name, config)
	return err
}
