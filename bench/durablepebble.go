package bench

import (
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// A pebbleStore writes keys. It has the sizes that Foliot's store gives to Pebble.
type pebbleStore struct {
	db    *pebble.DB
	value []byte
}

func openPebble(dir string, _ time.Duration) (durableStore, error) {
	db, err := pebble.Open(dir, &pebble.Options{
		Logger:                      silentPebble{},
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                32 << 20,
		CacheSize:                   64 << 20,
		MemTableStopWritesThreshold: 1 << 10,
		L0StopWritesThreshold:       1 << 20,
	})
	if err != nil {
		return nil, err
	}
	// A timer of Foliot is a record, whose key is a byte and the ID, and a key of an index, which is nine bytes and the
	// ID. The record has about 24 bytes besides the payload.
	return &pebbleStore{db, make([]byte, 24+orderPayload+9+len(orderID(0)))}, nil
}

func (p *pebbleStore) key(id string) []byte {
	return append(append(make([]byte, 0, 1+len(id)), 'r'), id...)
}

func (p *pebbleStore) schedule(id string, _ time.Time) error {
	return p.db.Set(p.key(id), p.value, pebble.Sync)
}

func (p *pebbleStore) fill(from, to int, _ func(i int) time.Time) error {
	for ; from < to; from += fillBatch {
		b := p.db.NewBatch()
		for i := from; i < min(from+fillBatch, to); i++ {
			if err := b.Set(p.key(orderID(i)), p.value, nil); err != nil {
				return err
			}
		}
		if err := b.Commit(pebble.Sync); err != nil {
			return err
		}
	}
	return nil
}

func (p *pebbleStore) cancel(id string) error { return p.db.Delete(p.key(id), pebble.Sync) }

// run reads all keys, and calls fired once if there are any.
func (p *pebbleStore) run(fired func(at time.Time)) (func() error, error) {
	it, err := p.db.NewIter(nil)
	if err != nil {
		return nil, err
	}
	n := 0
	for it.First(); it.Valid(); it.Next() {
		n += len(it.Value())
	}
	if n > 0 {
		fired(time.Now())
	}
	return func() error { return nil }, it.Close()
}

func (p *pebbleStore) close() error { return p.db.Close() }

// silentPebble is a logger that logs nothing.
type silentPebble struct{}

func (silentPebble) Infof(string, ...any)           {}
func (silentPebble) Errorf(string, ...any)          {}
func (silentPebble) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }
