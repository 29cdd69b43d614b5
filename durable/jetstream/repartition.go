package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// Repartition divides the timers of Options.Stream among another number of streams. No process may use them
// meanwhile: Open refuses to, and Repartition returns an error if it hears a process. It can be called again
// with the same number after it was cut off, and goes on then. Timers keep their revisions.
//
// It needs the permissions to update streams, and to delete those that are not needed any more.
func Repartition(ctx context.Context, nc *nats.Conn, o Options, partitions int) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	if nc == nil {
		return fmt.Errorf("%w: the connection is nil", durable.ErrInvalid)
	}
	if partitions < 1 || partitions > maxPartitions {
		return fmt.Errorf("%w: the number of partitions is %d; it must be from 1 to %d", durable.ErrInvalid, partitions, maxPartitions)
	}
	s := newStore(nc, o)
	r := &repartition{s: s, to: partitions}
	if err := s.guarded(ctx, r.run); err != nil {
		return fmt.Errorf("jetstream: Repartition: %w", err)
	}
	s.end(durable.ErrClosed)
	s.release()
	return nil
}

// A repartition moves timers from one number of streams to another.
//
// First it gives each timer that stays in its stream its revision explicitly, and copies the others to their
// new streams with their revisions. A copy is removed from its old stream only when the new one has it. Then
// it raises the base of all streams, so that each new revision is greater than all before.
type repartition struct {
	s        *Store
	from, to int

	moved func() error // called after each timer; an error cuts it off. nil: nothing is called
}

func (r *repartition) run(ctx context.Context) error {
	s := r.s
	if err := s.connected(ctx); err != nil {
		return err
	}
	if err := s.checkServer(); err != nil {
		return err
	}
	first, err := s.look(ctx, s.opts.Stream)
	if err != nil {
		return fmt.Errorf("the stream %s: %w", s.opts.Stream, err)
	}
	r.from = partitionsOf(first)
	if moving := first.Config.Metadata[metaMoving]; moving != "" {
		if _, err := fmt.Sscanf(moving, "%d>%d", &r.from, new(int)); err != nil {
			return fmt.Errorf("the metadata of stream %s are damaged: %q", s.opts.Stream, moving)
		}
		if want := fmt.Sprintf("%d>%d", r.from, r.to); moving != want {
			return fmt.Errorf("another one from %d partitions was cut off; call it with the same number first (%s)", r.from, moving)
		}
	} else if r.from == r.to {
		return nil
	}
	if s.opts.Replicas == 0 {
		s.opts.Replicas = first.Config.Replicas
	}
	infos := make([]streamInfo, max(r.from, r.to))
	for n := range infos {
		if infos[n], err = s.openStream(ctx, partitionName(s.opts.Stream, n), r.to); err != nil {
			return err
		}
	}
	if err := s.attach(ctx, infos); err != nil {
		return err
	}
	if err := s.members.silence(ctx); err != nil {
		return err
	}
	if err := s.setMetadata(ctx, s.opts.Stream, map[string]string{metaMoving: fmt.Sprintf("%d>%d", r.from, r.to)}); err != nil {
		return err
	}
	for n := range s.parts {
		if err := r.movePart(ctx, n); err != nil {
			return err
		}
	}
	return r.finish(ctx)
}

// silence returns an error if another process is heard.
func (m *members) silence(ctx context.Context) error {
	m.send(heartbeat{Hello: true})
	m.s.sleepUntil(ctx, rankSilence)
	m.mu.RLock()
	defer m.mu.RUnlock()
	for name, p := range m.peers {
		if !p.left {
			return fmt.Errorf("process %s uses the streams; end all processes first", name)
		}
	}
	return ctx.Err()
}

// movePart moves the timers of a stream that belong to another one.
func (r *repartition) movePart(ctx context.Context, n int) error {
	p := r.s.parts[n]
	p.mu.Lock()
	var ids []string
	for id := range p.index.entries {
		ids = append(ids, id)
	}
	p.mu.Unlock()
	for _, id := range ids {
		if err := r.moveTimer(ctx, p, r.s.parts[partOf(id, r.to)], id); err != nil {
			return fmt.Errorf("timer %q: %w", id, err)
		}
		if r.moved != nil {
			if err := r.moved(); err != nil {
				return err
			}
		}
	}
	return nil
}

// moveTimer moves a timer, or writes its revision if it stays.
func (r *repartition) moveTimer(ctx context.Context, from, to *part, id string) error {
	x := &next{id: id, old: from.view(id)}
	if x.old.record.State == moves.None && !x.old.hasDead {
		return nil
	}
	x.message = message{record: x.old.record, owner: x.old.owner, hasDead: x.old.hasDead}
	if err := from.carry(ctx, x); err != nil {
		return err
	}
	copied := *x
	copied.old = to.view(id)
	if from != to && (copied.old.record.State != moves.None || copied.old.hasDead) {
		if copied.old.record != x.old.record {
			return errors.New("two streams have it")
		}
		// It was copied before.
	} else if _, err := to.begin(&copied).wait(ctx); err != nil {
		return err
	}
	if from == to {
		return nil
	}
	x.message = message{}
	_, err := from.begin(x).wait(ctx)
	return err
}

// finish makes the new number of partitions valid.
func (r *repartition) finish(ctx context.Context) error {
	s := r.s
	base := uint64(0)
	for _, p := range s.parts {
		info, err := s.look(ctx, p.stream)
		if err != nil {
			return err
		}
		base = max(base, p.base+info.State.LastSeq)
	}
	for n := r.to - 1; n >= 0; n-- {
		values := map[string]string{metaBase: strconv.FormatUint(base, 10), metaPartitions: strconv.Itoa(r.to)}
		if n == 0 {
			values[metaMoving] = ""
		}
		if err := s.setMetadata(ctx, s.parts[n].stream, values); err != nil {
			return err
		}
	}
	for n := r.to; n < len(s.parts); n++ {
		ctx, cancel := context.WithTimeout(ctx, requestTime)
		_, err := s.request(ctx, s.api+"STREAM.DELETE."+s.parts[n].stream, nil)
		cancel()
		if err != nil {
			s.log.Warn("jetstream: a stream that is not needed any more cannot be deleted", "stream", s.parts[n].stream, "error", err)
		}
	}
	return nil
}

// setMetadata changes metadata of a stream. An empty value removes a key.
func (s *Store) setMetadata(ctx context.Context, stream string, values map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*requestTime)
	defer cancel()
	b, err := s.request(ctx, s.api+"STREAM.INFO."+stream, nil)
	if err != nil {
		return err
	}
	var info struct {
		Config map[string]json.RawMessage `json:"config"` // all fields, also those that this program does not know
	}
	if err := json.Unmarshal(b, &info); err != nil {
		return err
	}
	metadata := map[string]string{}
	if raw := info.Config["metadata"]; raw != nil {
		if err := json.Unmarshal(raw, &metadata); err != nil {
			return err
		}
	}
	for key, value := range values {
		if metadata[key] = value; value == "" {
			delete(metadata, key)
		}
	}
	if info.Config["metadata"], err = json.Marshal(metadata); err != nil {
		return err
	}
	if b, err = json.Marshal(info.Config); err != nil {
		return err
	}
	_, err = s.request(ctx, s.api+"STREAM.UPDATE."+stream, b)
	return err
}
