package kvstore

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// Waiting implements [durable.Store]. A timer may be yielded more than once: for its deadline, and for
// another attempt.
func (s *Store) Waiting(from time.Time) iter.Seq2[durable.Wake, error] {
	return func(yield func(durable.Wake, error) bool) {
		// The watcher was told of changes that the engine does not have yet.
		if err := s.flushed(); err != nil {
			yield(durable.Wake{}, err)
			return
		}
		due, again := []byte{duePrefix}, []byte{retryPrefix}
		if from.IsZero() {
			cutOff := cursor{s: s, from: []byte{bothPrefix}, to: after(bothPrefix)}
			for w, ok := cutOff.next(); ok; w, ok = cutOff.next() {
				if !yield(w, nil) {
					return
				}
			}
			if cutOff.err != nil {
				yield(durable.Wake{}, cutOff.err)
				return
			}
		} else {
			due, again = dueKey(from.UnixNano(), ""), retryKey(from.UnixNano(), "")
		}
		merge(&cursor{s: s, from: due, to: after(duePrefix)}, &cursor{s: s, from: again, to: after(retryPrefix)}, yield)
	}
}

// merge yields the timers of two cursors in the order of their times.
func merge(a, b *cursor, yield func(durable.Wake, error) bool) {
	first, okA := a.next()
	second, okB := b.next()
	for a.err == nil && b.err == nil && (okA || okB) {
		if okA && (!okB || first.At <= second.At) {
			if !yield(first, nil) {
				return
			}
			first, okA = a.next()
		} else {
			if !yield(second, nil) {
				return
			}
			second, okB = b.next()
		}
	}
	for _, c := range []*cursor{a, b} {
		if c.err != nil {
			yield(durable.Wake{}, c.err)
			return
		}
	}
}

// A cursor reads the timers of an index, some at a time. Between, the store may change and may be closed.
type cursor struct {
	s        *Store
	from, to []byte // from is nil at the end
	wakes    []durable.Wake
	read     int // of wakes
	err      error
}

// next returns the next timer, or false at the end and after an error.
func (c *cursor) next() (w durable.Wake, ok bool) {
	for c.read == len(c.wakes) {
		if c.from == nil || c.err != nil {
			return w, false
		}
		c.wakes, c.read = c.wakes[:0], 0
		c.err = c.fill()
	}
	w = c.wakes[c.read]
	c.read++
	return w, c.err == nil
}

// fill reads the next timers.
func (c *cursor) fill() error {
	s := c.s
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	var next []byte
	var damaged error
	err := s.engine.Scan(c.from, c.to, func(k, _ []byte) bool {
		if len(c.wakes) == 16*chunk {
			next = bytes.Clone(k)
			return false
		}
		w := durable.Wake{ID: string(k[1:]), At: math.MinInt64}
		if k[0] != bothPrefix {
			var ok bool
			if w.At, w.ID, ok = splitTimeKey(k); !ok {
				damaged = fmt.Errorf("the key %x is damaged", k)
				return false
			}
		}
		c.wakes = append(c.wakes, w)
		return true
	})
	c.from = next
	if err == nil {
		err = damaged
	}
	return s.fail(err)
}
