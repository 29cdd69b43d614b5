package local

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot-go/foliot/durable/internal/kvstore"
)

// OpenReadOnly opens the store in a folder for reading. It changes nothing in the folder, not even if the
// process that had it open was killed. Methods that change something, and Run, return an error. As with
// Open, one process can have the folder open at a time.
func OpenReadOnly(dir string) (*Store, error) {
	e, err := openReadOnly(dir)
	if err != nil {
		return nil, err
	}
	s, err := kvstore.OpenReadOnly(e)
	if err != nil {
		return nil, explain(dir, vfs.Default, err)
	}
	e.onFailure(s.Fail)
	return &Store{s}, nil
}

func openReadOnly(dir string) (*engine, error) {
	if dir == "" {
		return nil, errEmptyPath
	}
	// The lock would make a file in a folder without a store.
	names, err := vfs.Default.List(dir)
	if err != nil || !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "MANIFEST-") }) {
		if err == nil {
			err = errors.New("it has no file MANIFEST-*")
		}
		return nil, explain(dir, vfs.Default, fmt.Errorf("%w: %w", pebble.ErrDBDoesNotExist, err))
	}
	e, err := openEngine(dir, vfs.Default, false, true)
	if err != nil {
		return nil, explain(dir, vfs.Default, err)
	}
	return e, nil
}

// A Report is what Verify has found.
type Report struct {
	Timers  int      // the number of timers
	Dead    int      // the number of timers whose attempts are used up
	Damages []string // what is wrong, one line each
}

// Verify reads all of a folder, and checks each timer, its payload and the indexes. It changes nothing.
// It returns an error if the folder cannot be opened. What is damaged is in the Report.
func Verify(dir string) (Report, error) {
	e, err := openReadOnly(dir)
	if err != nil {
		return Report{}, err
	}
	found, err := kvstore.Verify(e)
	report := Report{Timers: found.Timers, Dead: found.Dead, Damages: found.Damages}
	if found.More > 0 {
		report.Damages = append(report.Damages, fmt.Sprintf("and %d more", found.More))
	}
	if err != nil { // the rest could not be read
		report.Damages = append(report.Damages, err.Error())
	}
	return report, e.Close()
}
