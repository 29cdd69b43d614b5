package local

import (
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A faultFS calls hook before each operation that changes something. If hook returns an error, the
// operation is not done and returns it.
type faultFS struct {
	vfs.FS
	hook func(op, name string) error
}

type faultFile struct {
	vfs.File
	name string
	hook func(op, name string) error
}

func (f faultFS) file(op, name string, open func() (vfs.File, error)) (vfs.File, error) {
	if err := f.hook(op, name); err != nil {
		return nil, err
	}
	file, err := open()
	if err != nil {
		return nil, err
	}
	return faultFile{file, name, f.hook}, nil
}

func (f faultFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.file("create", name, func() (vfs.File, error) { return f.FS.Create(name, c) })
}

func (f faultFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.file("reuse", to, func() (vfs.File, error) { return f.FS.ReuseForWrite(from, to, c) })
}

func (f faultFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.file("open", name, func() (vfs.File, error) { return f.FS.OpenReadWrite(name, c, opts...) })
}

func (f faultFS) OpenDir(name string) (vfs.File, error) {
	return f.file("opendir", name, func() (vfs.File, error) { return f.FS.OpenDir(name) })
}

func (f faultFS) Link(from, to string) error {
	if err := f.hook("link", to); err != nil {
		return err
	}
	return f.FS.Link(from, to)
}

func (f faultFS) Rename(from, to string) error {
	if err := f.hook("rename", to); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f faultFS) Remove(name string) error {
	if err := f.hook("remove", name); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f faultFS) MkdirAll(dir string, perm fs.FileMode) error {
	if err := f.hook("mkdir", dir); err != nil {
		return err
	}
	return f.FS.MkdirAll(dir, perm)
}

func (f faultFS) Unwrap() vfs.FS { return f.FS }

func (f faultFile) Write(p []byte) (int, error) {
	if err := f.hook("write", f.name); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f faultFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.hook("writeat", f.name); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, at)
}

func (f faultFile) Sync() error {
	if err := f.hook("sync", f.name); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f faultFile) SyncData() error {
	if err := f.hook("sync", f.name); err != nil {
		return err
	}
	return f.File.SyncData()
}

func (f faultFile) SyncTo(length int64) (bool, error) {
	if err := f.hook("syncto", f.name); err != nil {
		return false, err
	}
	return f.File.SyncTo(length)
}

func (f faultFile) Close() error {
	err := f.hook("close", f.name)
	if closed := f.File.Close(); err == nil {
		err = closed
	}
	return err
}
