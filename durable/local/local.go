package local

import (
	"errors"
	"fmt"
	"os"
	"syscall"

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

// Close waits for the calls that are running, closes the store and releases the folder. Call it after
// Run has returned: a handler that is still running then is called again after the next Open. A second
// Close returns [durable.ErrClosed].
func (s *Store) Close() error { return s.Store.Close() }

// Open opens the store in a folder, which it makes if there is none. One process can have it open at a
// time; another one gets an error.
func Open(dir string, o Options) (*Store, error) {
	return open(dir, o, vfs.Default)
}

func open(dir string, o Options, fs vfs.FS) (*Store, error) {
	if dir == "" {
		return nil, errEmptyPath
	}
	if o.NoSync {
		fs = noSync{fs}
	}
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return nil, explain(dir, fs, err)
	}
	e, err := openEngine(dir, fs, o.NoSync, false)
	if err != nil {
		return nil, explain(dir, fs, err)
	}
	s, err := kvstore.Open(e)
	if err != nil {
		return nil, explain(dir, fs, err)
	}
	e.onFailure(s.Fail)
	return &Store{s}, nil
}

// explain returns an error that names the folder and says what to do.
func explain(dir string, fs vfs.FS, err error) error {
	what := "mend the cause and open it again"
	info, statErr := fs.Stat(dir)
	switch {
	case statErr == nil && !info.IsDir():
		what = "it is a file; name another folder, or move the file away"
	case errors.Is(err, pebble.ErrDBDoesNotExist):
		what = "there is no store; name the folder that keeps the timers"
	case errors.Is(err, errLocked):
		what = "another process has it open, or this process has it open already; close it there first"
	case pebble.IsCorruptionError(err) || errors.Is(err, errDamaged):
		what = "a file is damaged; restore the folder from a backup"
	case errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS):
		what = "it cannot be written; give this user the right to write to it, or name another folder"
	case errors.Is(err, syscall.ENOSPC):
		what = "the disk is full; make room and open it again"
	}
	return fmt.Errorf("durable/local: folder %s: %s: %w", dir, what, err)
}

var errEmptyPath = errors.New("durable/local: the path of the folder is empty; name the folder that keeps the timers")

// errLocked says that the lock of a folder is taken.
var errLocked = errors.New("the folder is in use")

// Tests make these small.
var (
	memTableSize uint64 = 32 << 20 // how much Pebble keeps in memory before it writes a table
	cacheSize    int64  = 64 << 20 // how much of its tables Pebble keeps in memory
)

// openEngine opens Pebble in a folder.
func openEngine(dir string, fs vfs.FS, unsynced, readOnly bool) (*engine, error) {
	e := newEngine()
	below := fs
	fs = haltFS{fs, &e.halt}
	lock, err := pebble.LockDirectory(dir, fs) // Pebble would not say what has failed
	if err != nil {
		if !errors.Is(err, os.ErrPermission) && !errors.Is(err, syscall.EROFS) && !errors.Is(err, syscall.ENOSPC) {
			err = fmt.Errorf("%w: %w", errLocked, err)
		}
		return nil, err
	}
	o := &pebble.Options{
		FS:                 fs,
		Lock:               lock,
		Logger:             logger{e},
		FormatMajorVersion: pebble.FormatNewest,
		MemTableSize:       memTableSize,
		CacheSize:          cacheSize,
		ReadOnly:           readOnly,
		ErrorIfNotExists:   readOnly,

		// Writes never wait for flushes and compactions: a store whose disk is full would wait forever.
		MemTableStopWritesThreshold: 1 << 10,
		L0StopWritesThreshold:       1 << 20,
	}
	o.EventListener = &pebble.EventListener{
		BackgroundError: e.backgroundError,
		DataCorruption:  func(i pebble.DataCorruptionInfo) { _ = e.fail(fmt.Errorf("%s is damaged: %w", i.Path, i.Details)) },
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	err = checkSynced(below, dir)
	switch {
	case err != nil || readOnly:
	case unsynced:
		if err = below.Remove(below.PathJoin(dir, syncedName)); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	default:
		err = openSynced(below, dir, &e.halt.synced)
	}
	if err == nil {
		e.db, err = e.openPebble(dir, o)
	}
	if err != nil {
		return nil, errors.Join(err, e.release())
	}
	e.halt.armed.Store(true)
	return e, nil
}
