package local

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot-go/foliot/durable/internal/kvstore"
)

// An engine is Pebble as a kvstore.Engine.
//
// Pebble ends the process or panics when it cannot write, and leaves its own locks locked. So one
// goroutine at a time applies a batch, a panic becomes an error, and after the first error nothing is
// called any more, not even Close: only the lock of the folder is released.
type engine struct {
	db   *pebble.DB
	lock *pebble.Lock

	applying sync.Mutex
	failed   atomic.Pointer[error]
}

// fatal is what the logger panics with on a goroutine that applies a batch.
type fatal struct{ err error }

// fail stores the first error and returns it.
func (e *engine) fail(err error) error {
	if err == nil {
		return nil
	}
	e.failed.CompareAndSwap(nil, &err)
	return *e.failed.Load()
}

// err returns the error that has stopped the engine.
func (e *engine) err() error {
	if err := e.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Apply implements kvstore.Engine.
func (e *engine) Apply(b *kvstore.Batch) (wait func() error, err error) {
	batch := e.db.NewBatchWithSize(batchSize(b))
	for _, op := range b.Ops {
		if op.Value == nil {
			err = batch.Delete(op.Key, nil)
		} else {
			err = batch.Set(op.Key, op.Value, nil)
		}
		if err != nil {
			return nil, e.fail(err)
		}
	}
	if err := e.apply(batch); err != nil {
		return nil, err
	}
	return func() error {
		err := batch.SyncWait()
		if err == nil {
			err = batch.Close()
		}
		return e.fail(err)
	}, nil
}

// apply applies a batch.
func (e *engine) apply(batch *pebble.Batch) (err error) {
	e.applying.Lock()
	defer e.applying.Unlock()
	if err := e.err(); err != nil {
		return err
	}
	defer func() {
		switch v := recover().(type) {
		case nil:
		case fatal:
			err = e.fail(v.err)
		case error:
			err = e.fail(v)
		default:
			err = e.fail(fmt.Errorf("pebble: %v", v))
		}
	}()
	return e.fail(e.db.ApplyNoSyncWait(batch, pebble.Sync))
}

// batchSize returns about how many bytes a batch takes.
func batchSize(b *kvstore.Batch) int {
	n := 16
	for _, op := range b.Ops {
		n += len(op.Key) + len(op.Value) + 8
	}
	return n
}

// Get implements kvstore.Engine.
func (e *engine) Get(key []byte) ([]byte, error) {
	if err := e.err(); err != nil {
		return nil, err
	}
	v, closer, err := e.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, len(v)), v...)
	return b, closer.Close()
}

// Scan implements kvstore.Engine.
func (e *engine) Scan(from, to []byte, yield func(key, value []byte) bool) error {
	if err := e.err(); err != nil {
		return err
	}
	return scan(e.db, from, to, yield)
}

// Snapshot implements kvstore.Engine.
func (e *engine) Snapshot() kvstore.Snapshot { return snapshot{e.db.NewSnapshot()} }

type snapshot struct{ s *pebble.Snapshot }

func (s snapshot) Scan(from, to []byte, yield func(key, value []byte) bool) error {
	return scan(s.s, from, to, yield)
}

func (s snapshot) Close() { _ = s.s.Close() }

// scan calls yield for the keys in [from, to).
func scan(r pebble.Reader, from, to []byte, yield func(key, value []byte) bool) (err error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if !yield(it.Key(), v) {
			break
		}
	}
	return it.Error()
}

// Close implements kvstore.Engine.
func (e *engine) Close() error {
	e.applying.Lock()
	defer e.applying.Unlock()
	var err error
	if e.err() == nil {
		err = e.db.Close()
	}
	return errors.Join(err, e.lock.Close())
}

// noSync is a file system whose files are written to the operating system and not to the disk.
type noSync struct{ vfs.FS }

type noSyncFile struct{ vfs.File }

func (noSyncFile) Sync() error { return nil }

func (noSyncFile) SyncData() error { return nil }

func (noSyncFile) SyncTo(int64) (bool, error) { return false, nil }

func (fs noSync) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return wrapNoSync(fs.FS.Create(name, c))
}

func (fs noSync) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return wrapNoSync(fs.FS.ReuseForWrite(from, to, c))
}

func (fs noSync) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return wrapNoSync(fs.FS.OpenReadWrite(name, c, opts...))
}

func (fs noSync) OpenDir(name string) (vfs.File, error) { return wrapNoSync(fs.FS.OpenDir(name)) }

func wrapNoSync(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return noSyncFile{f}, nil
}
