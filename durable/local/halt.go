package local

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A haltFS is the file system that Pebble writes to. From the first write that fails, nothing is
// written any more. So the folder is as after a power cut, and nothing is synced again after a sync has
// failed.
//
// Pebble does not get to know the error: it would end the process, or panic on a goroutine where
// nothing recovers, or panic with a mutex that is unlocked twice then. Instead, writes to the log and
// syncs of folders seem to succeed, so that no caller of Pebble hangs: nothing reads the log before the
// next open. All other goroutines that change files block. These are the ones that flush, compact and
// remove files, and no caller waits for them.
type haltFS struct {
	vfs.FS
	h *halt
}

// A halt is the state of a haltFS.
type halt struct {
	armed   atomic.Bool // false while Pebble opens the store: it handles errors itself then
	stopped atomic.Bool
	report  func(error)  // called with the error, once or more, before anything else sees it
	blocked atomic.Int64 // goroutines that are blocked
	lock    *folderLock  // set by Lock
	synced  synced
}

// Lock locks a file. Pebble and the engine release the lock, and the first of them does.
func (f haltFS) Lock(name string) (io.Closer, error) {
	c, err := f.FS.Lock(name)
	if err != nil {
		return nil, err
	}
	f.h.lock = &folderLock{close: sync.OnceValue(c.Close)}
	return f.h.lock, nil
}

// A folderLock is the lock of a folder. It can be closed more than once.
type folderLock struct{ close func() error }

func (l *folderLock) Close() error { return l.close() }

// walCategory is what Pebble calls the files of its log.
const walCategory vfs.DiskWriteCategory = "pebble-wal"

// block blocks the goroutine for good.
func (h *halt) block() {
	h.blocked.Add(1)
	select {}
}

// stop stops the file system after an error. It returns false if Pebble must handle it.
func (h *halt) stop(what, name string, err error) bool {
	if !h.armed.Load() {
		return false
	}
	if _, named := errors.AsType[*fs.PathError](err); !named {
		err = fmt.Errorf("%s %s: %w", what, name, err)
	}
	h.report(err)
	h.stopped.Store(true)
	return true
}

// change changes a file other than the log. It blocks if the file system has stopped or stops.
func (h *halt) change(what, name string, f func() error) error {
	if h.stopped.Load() {
		h.block()
	}
	err := f()
	if err != nil && h.stop(what, name, err) {
		h.block()
	}
	return err
}

// log changes the log or a folder. It does nothing if the file system has stopped. An error that stops
// it is not returned.
func (h *halt) log(what, name string, f func() error) error {
	if h.stopped.Load() {
		return nil
	}
	err := f()
	if err != nil && h.stop(what, name, err) {
		return nil
	}
	return err
}

// open opens a file for writing.
func (h *halt) open(what, name string, log bool, f func() (vfs.File, error)) (file vfs.File, err error) {
	do := h.change
	if log {
		do = h.log
	}
	err = do(what, name, func() (err error) {
		file, err = f()
		return err
	})
	if err != nil {
		return nil, err
	}
	if file == nil {
		file = nowhere{}
	}
	return &haltFile{File: file, h: h, name: name, do: do, part: -1}, nil
}

// Create makes a file. A marker names another file. That one must not be lost if the power is cut, and
// Pebble syncs the folder only after it has made the marker. So Create syncs the folder before, too.
func (f haltFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(f.PathBase(name), "marker.") {
		if err := f.syncFolder(f.PathDir(name)); err != nil {
			return nil, err
		}
	}
	file, err := f.h.open("create", name, c == walCategory, func() (vfs.File, error) { return f.FS.Create(name, c) })
	return f.noted(file), err
}

// syncFolder syncs a folder.
func (f haltFS) syncFolder(name string) error {
	dir, err := f.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (f haltFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.h.open("reuse", to, c == walCategory, func() (vfs.File, error) { return f.FS.ReuseForWrite(from, to, c) })
	return f.noted(file), err
}

// noted makes syncs of a file be noted in SYNCED if it is a log or a MANIFEST.
func (f haltFS) noted(file vfs.File) vfs.File {
	if file, ok := file.(*haltFile); ok {
		file.base = f.PathBase(file.name)
		file.part = syncedPart(file.base)
	}
	return file
}

func (f haltFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.h.open("open", name, false, func() (vfs.File, error) { return f.FS.OpenReadWrite(name, c, opts...) })
}

func (f haltFS) OpenDir(name string) (vfs.File, error) {
	return f.h.open("open", name, true, func() (vfs.File, error) { return f.FS.OpenDir(name) })
}

func (f haltFS) Link(from, to string) error {
	return f.h.change("link", to, func() error { return f.FS.Link(from, to) })
}

func (f haltFS) Rename(from, to string) error {
	return f.h.change("rename", to, func() error { return f.FS.Rename(from, to) })
}

func (f haltFS) MkdirAll(dir string, perm fs.FileMode) error {
	return f.h.change("make", dir, func() error { return f.FS.MkdirAll(dir, perm) })
}

// Remove removes a file. A file that stays does no harm, so an error stops nothing.
func (f haltFS) Remove(name string) error {
	if f.h.stopped.Load() {
		f.h.block()
	}
	return f.FS.Remove(name)
}

func (f haltFS) RemoveAll(name string) error {
	if f.h.stopped.Load() {
		f.h.block()
	}
	return f.FS.RemoveAll(name)
}

func (f haltFS) Unwrap() vfs.FS { return f.FS }

// A haltFile is a file that Pebble writes to.
type haltFile struct {
	vfs.File
	h    *halt
	name string
	do   func(what, name string, f func() error) error

	// For SYNCED. Pebble calls Write and Sync of a file one after the other.
	part   int // -1: none
	base   string
	length uint64
	sum    uint32
}

func (f *haltFile) Write(p []byte) (n int, err error) {
	n = len(p)
	err = f.do("write", f.name, func() (err error) {
		sum := f.sum
		if f.part >= 0 {
			sum = crc32.Update(sum, castagnoli, p) // before Write, which may change p
		}
		if _, err = f.File.Write(p); err != nil {
			return err
		}
		f.length, f.sum = f.length+uint64(n), sum
		return nil
	})
	return n, err
}

func (f *haltFile) WriteAt(p []byte, at int64) (n int, err error) {
	n = len(p)
	return n, f.do("write", f.name, func() error { _, err := f.File.WriteAt(p, at); return err })
}

func (f *haltFile) Sync() error { return f.sync(f.File.Sync) }

func (f *haltFile) SyncData() error { return f.sync(f.File.SyncData) }

func (f *haltFile) sync(sync func() error) error {
	return f.do("sync", f.name, func() error {
		if err := sync(); err != nil || f.part < 0 {
			return err
		}
		return f.h.synced.note(f.part, syncedFile{f.base, f.length, f.sum})
	})
}

func (f *haltFile) SyncTo(length int64) (full bool, err error) {
	err = f.do("sync", f.name, func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

// Close closes the file. It does not block, because Pebble closes files while it holds locks.
func (f *haltFile) Close() error {
	err := f.File.Close()
	if err != nil && (f.h.stopped.Load() || f.h.stop("close", f.name, err)) {
		return nil
	}
	return err
}

// nowhere is a file of the log that could not be opened.
type nowhere struct{ vfs.File }

func (nowhere) Close() error { return nil }

func (nowhere) Preallocate(int64, int64) error { return nil }

func (nowhere) Stat() (vfs.FileInfo, error) { return nowhereInfo{}, nil }

func (nowhere) Fd() uintptr { return vfs.InvalidFd }

// nowhereInfo describes a file that is empty.
type nowhereInfo struct{}

func (nowhereInfo) Name() string           { return "nowhere" }
func (nowhereInfo) Size() int64            { return 0 }
func (nowhereInfo) Mode() fs.FileMode      { return 0 }
func (nowhereInfo) ModTime() time.Time     { return time.Time{} }
func (nowhereInfo) IsDir() bool            { return false }
func (nowhereInfo) Sys() any               { return nil }
func (nowhereInfo) DeviceID() vfs.DeviceID { return vfs.DeviceID{} }
