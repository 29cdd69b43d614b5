// Package local keeps durable timers in a folder of one machine.
package local

import (
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot-go/foliot/durable/internal/kvstore"
)

// Options configure a store. The zero value is the safe one.
type Options struct {
	// NoSync leaves it to the operating system when changes are written to the disk. Then they
	// survive kill -9 and not a power cut.
	NoSync bool
}

// A Store keeps timers in a folder. Make one with [Open], give it to [durable.New], and close it
// after Run has returned.
type Store struct {
	*kvstore.Store
}

// Open opens the store in a folder, which it makes if there is none. One process can have it open at a
// time; another one gets an error.
func Open(dir string, o Options) (*Store, error) {
	return open(dir, o, vfs.Default)
}

func open(dir string, o Options, fs vfs.FS) (*Store, error) {
	if dir == "" {
		return nil, fmt.Errorf("durable/local: the folder is empty; name the folder that keeps the timers")
	}
	if o.NoSync {
		fs = noSync{fs}
	}
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("durable/local: folder %s: %w", dir, err)
	}
	e, err := openEngine(dir, fs)
	if err != nil {
		return nil, fmt.Errorf("durable/local: folder %s: %w", dir, err)
	}
	s, err := kvstore.Open(e)
	if err != nil {
		return nil, fmt.Errorf("durable/local: folder %s: %w", dir, err)
	}
	return &Store{s}, nil
}

// openEngine opens Pebble in a folder.
func openEngine(dir string, fs vfs.FS) (*engine, error) {
	lock, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return nil, fmt.Errorf("it cannot be locked; is another process using it? %w", err)
	}
	e := &engine{lock: lock}
	o := &pebble.Options{
		FS:                 fs,
		Lock:               lock,
		Logger:             logger{e},
		FormatMajorVersion: pebble.FormatNewest,
		MemTableSize:       32 << 20,
		CacheSize:          64 << 20,

		// Writes never wait for flushes and compactions: a store whose disk is full would wait for ever.
		MemTableStopWritesThreshold: 1 << 10,
		L0StopWritesThreshold:       1 << 20,
	}
	o.EventListener = &pebble.EventListener{
		BackgroundError: func(err error) { _ = e.fail(err) },
		DataCorruption:  func(i pebble.DataCorruptionInfo) { _ = e.fail(fmt.Errorf("%s is damaged: %w", i.Path, i.Details)) },
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	if e.db, err = pebble.Open(dir, o); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return e, nil
}

var _ = os.ErrNotExist

// logger is what Pebble logs to. Only its fatal errors are of interest.
type logger struct{ e *engine }

func (logger) Infof(string, ...any) {}

func (logger) Errorf(string, ...any) {}

func (l logger) Fatalf(format string, args ...any) {
	panic(fatal{l.e.fail(fmt.Errorf(format, args...))})
}
