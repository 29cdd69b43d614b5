package local

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot-go/foliot/durable/internal/kvstore"
)

// An engine is Pebble as a kvstore.Engine.
//
// After the first error nothing of Pebble is called any more, not even Close: goroutines of Pebble may
// be blocked and hold its locks. Its memory and its open files are lost then.
type engine struct {
	db   *pebble.DB
	halt halt

	applying sync.Mutex // a panic in Pebble leaves its locks locked, so one goroutine at a time applies

	mu      sync.Mutex
	failed  error
	failure chan struct{} // closed when failed is set
	notify  func(error)   // called with failed, or nil

	stuck chan error // gets an error that Pebble does not return from its Open
}

func newEngine() *engine {
	e := &engine{failure: make(chan struct{}), stuck: make(chan error, 1)}
	e.halt.report = func(err error) { _ = e.fail(err) }
	return e
}

// openPebble opens Pebble. When Pebble opens a folder, it waits until the log is written to tables. On a
// disk that is full it tries that again and again, and does not return. So openPebble returns the first
// error of it, and leaves the goroutine that opens blocked.
func (e *engine) openPebble(dir string, o *pebble.Options) (*pebble.DB, error) {
	type result struct {
		db  *pebble.DB
		err error
	}
	opened := make(chan result, 1)
	go func() {
		var r result
		r.err = guard(func() (err error) {
			r.db, err = pebble.Open(dir, o)
			return err
		})
		opened <- r
	}()
	select {
	case r := <-opened:
		return r.db, r.err
	case err := <-e.stuck:
		e.halt.stopped.Store(true)
		return nil, err
	}
}

// backgroundError gets errors of flushes, of compactions, and of the goroutine that reads the statistics of
// tables. While Pebble opens the folder, it blocks the goroutine that has the error, so that it does not try
// again. Later, that goroutine may hold locks that callers wait for. It tries again and again, so it is
// slowed down from the second error on, lest it keep a processor busy as long as the program runs.
func (e *engine) backgroundError(err error) {
	stopped := e.err() != nil
	err = e.fail(err)
	switch {
	case !e.halt.armed.Load():
		e.block(err)
	case stopped:
		time.Sleep(retryPause)
	}
}

// retryPause is how long a goroutine of Pebble waits before it tries again what cannot succeed.
const retryPause = time.Second

// block blocks the goroutine for good. If Pebble opens the folder, openPebble returns the error.
func (e *engine) block(err error) {
	select {
	case e.stuck <- err:
	default:
	}
	e.halt.block()
}

// fail stores the first error and returns it.
func (e *engine) fail(err error) error {
	if err == nil {
		return nil
	}
	e.mu.Lock()
	first := e.failed == nil
	if first {
		e.failed = err
		close(e.failure)
	}
	notify := e.notify
	err = e.failed
	e.mu.Unlock()
	if first && notify != nil {
		go notify(err) // the caller may hold locks of Pebble
	}
	return err
}

// err returns the error that has stopped the engine.
func (e *engine) err() error {
	select {
	case <-e.failure:
		return e.fail(errors.New("stopped"))
	default:
		return nil
	}
}

// onFailure makes the engine call f with its first error.
func (e *engine) onFailure(f func(error)) {
	e.mu.Lock()
	e.notify = f
	err := e.failed
	e.mu.Unlock()
	if err != nil {
		f(err)
	}
}

// fatal is what the logger panics with.
type fatal struct{ err error }

// guard calls f. A panic becomes an error.
func guard(f func() error) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case fatal:
			err = v.err
		case error:
			err = fmt.Errorf("pebble: %w", v)
		default:
			err = fmt.Errorf("pebble: %v", v)
		}
	}()
	return f()
}

// guarded reports whether the goroutine is in guard.
func guarded() bool {
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, "durable/local.guard") {
			return true
		}
		if !more {
			return false
		}
	}
}

// logger is what Pebble logs to. Only its fatal errors are of interest.
type logger struct{ e *engine }

func (logger) Infof(string, ...any) {}

func (logger) Errorf(string, ...any) {}

// Fatalf must not return. It panics where guard recovers, and blocks the other goroutines.
func (l logger) Fatalf(format string, args ...any) {
	cause := error(nil)
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			cause = err
		}
	}
	err := l.e.fail(fatalError{fmt.Sprintf(format, args...), cause})
	if guarded() {
		panic(fatal{err})
	}
	l.e.block(err)
}

// A fatalError is what Pebble has passed to Fatalf.
type fatalError struct {
	message string
	cause   error
}

func (e fatalError) Error() string { return e.message }

func (e fatalError) Unwrap() error { return e.cause }

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
		if err := guard(batch.SyncWait); err != nil {
			return e.fail(err)
		}
		// After a write has failed, the next ones seem to succeed. So the error is looked at last.
		if err := e.err(); err != nil {
			return err
		}
		return e.fail(batch.Close())
	}, nil
}

// apply applies a batch.
func (e *engine) apply(batch *pebble.Batch) error {
	e.applying.Lock()
	defer e.applying.Unlock()
	if err := e.err(); err != nil {
		return err
	}
	return e.fail(guard(func() error { return e.db.ApplyNoSyncWait(batch, pebble.Sync) }))
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
func (e *engine) Get(key []byte) (value []byte, err error) {
	if err := e.err(); err != nil {
		return nil, err
	}
	err = guard(func() error {
		v, closer, err := e.db.Get(key)
		if err != nil {
			return err
		}
		value = append(make([]byte, 0, len(v)), v...)
		return closer.Close()
	})
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	return value, e.fail(err)
}

// Scan implements kvstore.Engine.
func (e *engine) Scan(from, to []byte, yield func(key, value []byte) bool) error {
	return e.scan(e.db, from, to, yield)
}

// Snapshot implements kvstore.Engine.
func (e *engine) Snapshot() kvstore.Snapshot { return snapshot{e, e.db.NewSnapshot()} }

type snapshot struct {
	e *engine
	s *pebble.Snapshot
}

func (s snapshot) Scan(from, to []byte, yield func(key, value []byte) bool) error {
	return s.e.scan(s.s, from, to, yield)
}

func (s snapshot) Close() {
	if s.e.err() == nil {
		_ = s.s.Close()
	}
}

// scan calls yield for the keys in [from, to).
func (e *engine) scan(r pebble.Reader, from, to []byte, yield func(key, value []byte) bool) error {
	if err := e.err(); err != nil {
		return err
	}
	return e.fail(guard(func() error { return scan(r, from, to, yield) }))
}

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

// Close implements kvstore.Engine. A write may fail while Pebble closes, which blocks it.
func (e *engine) Close() error {
	e.applying.Lock()
	defer e.applying.Unlock()
	if e.err() != nil {
		return e.release()
	}
	closed := make(chan error, 1)
	go func() { closed <- guard(e.db.Close) }()
	select {
	case err := <-closed:
		return errors.Join(err, e.err(), e.release())
	case <-e.failure:
		return errors.Join(e.err(), e.release())
	}
}

// release releases the lock of the folder.
func (e *engine) release() error { return errors.Join(e.halt.synced.close(), e.halt.lock.Close()) }
