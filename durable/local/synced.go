package local

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Pebble takes a damaged record near the end of its log, or anywhere in its MANIFEST, for the place
// where a power cut has interrupted a write. It ignores what follows, and timers would be missing
// without an error. So the file SYNCED has, for the newest log and the newest MANIFEST, how many bytes
// were synced and their checksum. Open compares before Pebble opens the folder.
//
// SYNCED is written after each sync, and not synced itself. After a power cut it may be older than the
// files. It is never newer. With NoSync it could be, so there is no such file then.

const syncedName = "SYNCED"

// A syncedFile says what was synced of a file.
type syncedFile struct {
	name   string // up to 32 bytes; empty: no file
	length uint64
	sum    uint32
}

// The parts of SYNCED: the newest log and the newest MANIFEST.
const (
	syncedLog = iota
	syncedManifest
	syncedFiles
)

// synced writes the file SYNCED.
type synced struct {
	mu    sync.Mutex
	file  vfs.File // nil: it is not written
	files [syncedFiles]syncedFile
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// syncedPart returns the part of SYNCED that is about a file, or -1.
func syncedPart(base string) int {
	switch {
	case strings.HasSuffix(base, ".log"):
		return syncedLog
	case strings.HasPrefix(base, "MANIFEST-"):
		return syncedManifest
	}
	return -1
}

const (
	syncedEntry = 32 + 8 + 4
	syncedSize  = syncedFiles*syncedEntry + 4
)

// note stores that a file was synced.
func (s *synced) note(part int, f syncedFile) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	s.files[part] = f
	_, err := s.file.WriteAt(s.encode(), 0)
	return err
}

func (s *synced) encode() []byte {
	b := make([]byte, 0, syncedSize)
	for _, f := range s.files {
		var name [32]byte
		copy(name[:], f.name)
		b = append(b, name[:]...)
		b = binary.LittleEndian.AppendUint64(b, f.length)
		b = binary.LittleEndian.AppendUint32(b, f.sum)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decode undoes encode. It returns nothing if b is from before the first write.
func decodeSynced(b []byte) (files [syncedFiles]syncedFile, err error) {
	if len(b) < syncedSize || strings.Trim(string(b), "\x00") == "" {
		return files, nil
	}
	body := b[:syncedSize-4]
	if binary.LittleEndian.Uint32(b[syncedSize-4:]) != crc32.Checksum(body, castagnoli) {
		return files, errDamaged
	}
	for i := range files {
		e := body[i*syncedEntry:]
		files[i] = syncedFile{
			name:   strings.TrimRight(string(e[:32]), "\x00"),
			length: binary.LittleEndian.Uint64(e[32:]),
			sum:    binary.LittleEndian.Uint32(e[40:]),
		}
	}
	return files, nil
}

// errDamaged says that a file is not as it was written.
var errDamaged = errors.New("the file is damaged")

// checkSynced compares the files of a folder with SYNCED. The error names the file that is damaged.
func checkSynced(fs vfs.FS, dir string) error {
	path := fs.PathJoin(dir, syncedName)
	b, err := readFile(fs, path, syncedSize)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	files, err := decodeSynced(b)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, f := range files {
		if f.name == "" {
			continue
		}
		path := fs.PathJoin(dir, f.name)
		b, err := readFile(fs, path, f.length)
		switch {
		case errors.Is(err, os.ErrNotExist): // Pebble has removed it, because it needs it no more
		case errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("%s: %w: it has %d bytes, and %d were synced", path, errDamaged, len(b), f.length)
		case err != nil:
			return err
		case crc32.Checksum(b, castagnoli) != f.sum:
			return fmt.Errorf("%s: %w: the checksum of its first %d bytes is wrong", path, errDamaged, f.length)
		}
	}
	return nil
}

// readFile reads the first bytes of a file. If there are fewer, it returns them and
// io.ErrUnexpectedEOF.
func readFile(fs vfs.FS, path string, length uint64) (b []byte, err error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b = make([]byte, min(length, uint64(info.Size())))
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, err
	}
	if uint64(len(b)) < length {
		return b, io.ErrUnexpectedEOF
	}
	return b, nil
}

// openSynced opens the file SYNCED for writing.
func openSynced(fs vfs.FS, dir string, s *synced) error {
	path := fs.PathJoin(dir, syncedName)
	files, err := readFile(fs, path, syncedSize)
	if err == nil {
		s.files, err = decodeSynced(files)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	s.file, err = fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	return err
}

// close closes the file.
func (s *synced) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return f.Close()
}
