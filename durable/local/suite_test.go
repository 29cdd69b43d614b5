package local

import (
	"errors"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot-go/foliot/durable/storetest"
	"github.com/foliot-go/foliot/internal/testkit"
)

func TestSuiteInAFolder(t *testing.T) {
	testkit.OnlyInFull(t, "the suite in a folder, with and without NoSync; TestSuiteWithCrashesAndFailures runs it on a disk in memory")
	for name, o := range map[string]Options{"Sync": {}, "NoSync": {NoSync: true}} {
		t.Run(name, func(t *testing.T) {
			dirs := map[storetest.Store]string{}
			openIn := func(t *testing.T, dir string) storetest.Store {
				s, err := Open(dir, o)
				if err != nil {
					t.Fatal(err)
				}
				dirs[s] = dir
				return s
			}
			storetest.Run(t, storetest.Config{
				Open:    func(t *testing.T) storetest.Store { return openIn(t, t.TempDir()) },
				Reopen:  func(t *testing.T, old storetest.Store) storetest.Store { return openIn(t, dirs[old]) },
				OneNode: true,
			})
		})
	}
}

func TestSuiteWithCrashesAndFailures(t *testing.T) {
	disks := map[storetest.Store]*disk{}
	openOn := func(t *testing.T, mem *vfs.MemFS) storetest.Store {
		d := &disk{FS: mem, mem: mem}
		s, err := open("dir", Options{}, d)
		if err != nil {
			t.Fatal(err)
		}
		disks[s] = d
		return s
	}
	storetest.Run(t, storetest.Config{
		Open:   func(t *testing.T) storetest.Store { return openOn(t, vfs.NewCrashableMem()) },
		Reopen: func(t *testing.T, old storetest.Store) storetest.Store { return openOn(t, disks[old].mem) },
		Crash: func(_ *testing.T, s storetest.Store) {
			disks[s].crash()
			s.(*Store).Fail(errCrash)
		},
		Fail:    func(_ *testing.T, s storetest.Store, err error) { disks[s].fail(err) },
		OneNode: true,
	})
}

var errCrash = errors.New("the disk of the test is gone")

// A disk is a file system in memory that can crash and fail. A sync either is complete before that, or
// returns an error.
type disk struct {
	vfs.FS

	mu  sync.RWMutex // held for reading by each sync
	mem *vfs.MemFS
	err error // of each sync from now on
}

// crash loses what was not synced, and ends the disk for those who use it.
func (d *disk) crash() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mem = d.mem.CrashClone(vfs.CrashCloneCfg{})
	d.err = errCrash
}

// fail makes each sync fail.
func (d *disk) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mem = d.mem.CrashClone(vfs.CrashCloneCfg{})
	d.err = err
}

func (d *disk) sync(f func() error) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.err != nil {
		return d.err
	}
	return f()
}

// A diskFile is a file of a disk.
type diskFile struct {
	vfs.File
	d *disk
}

func (f diskFile) Sync() error     { return f.d.sync(f.File.Sync) }
func (f diskFile) SyncData() error { return f.d.sync(f.File.SyncData) }

func (f diskFile) SyncTo(n int64) (full bool, err error) {
	err = f.d.sync(func() (err error) {
		full, err = f.File.SyncTo(n)
		return err
	})
	return full, err
}

func (d *disk) wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return diskFile{f, d}, nil
}

func (d *disk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.wrap(d.FS.Create(name, c))
}

func (d *disk) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.wrap(d.FS.ReuseForWrite(from, to, c))
}

func (d *disk) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return d.wrap(d.FS.OpenReadWrite(name, c, opts...))
}

func (d *disk) OpenDir(name string) (vfs.File, error) { return d.wrap(d.FS.OpenDir(name)) }
