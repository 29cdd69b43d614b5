package local

import "github.com/cockroachdb/pebble/v2/vfs"

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

func (fs noSync) Unwrap() vfs.FS { return fs.FS }

func wrapNoSync(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return noSyncFile{f}, nil
}
