package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/local"
)

// A folder is the source of a folder at rest.
type folder struct {
	dir string
	s   *durable.Scheduler
}

// withFolder calls do with the timers of a folder. Unless do changes timers, no file of the folder is written. The error is
// one of running, not of usage.
func withFolder(dir string, change bool, do func(s *folder) error) error {
	if err := checkFolder(dir); err != nil {
		return runError{err}
	}
	open := local.OpenReadOnly
	if change {
		open = func(dir string) (*local.Store, error) { return local.Open(dir, local.Options{}) }
	}
	store, err := open(dir)
	if err != nil {
		return runError{err}
	}
	s, err := durable.New(store, durable.Options{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = do(&folder{dir, s})
	}
	if err = errors.Join(err, store.Close()); err != nil {
		return runError{err}
	}
	return nil
}

// checkFolder returns an error if a folder does not have timers, so that no command makes a folder or a store.
func checkFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no folder %s", dir)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is a file; name the folder that keeps the timers", dir)
	}
	if found, err := filepath.Glob(filepath.Join(escapeGlob(dir), "MANIFEST-*")); err != nil || len(found) == 0 {
		return fmt.Errorf("%s is not a folder of timers", dir)
	}
	return nil
}

// escapeGlob returns a pattern that matches a path only.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func (s *folder) get(ctx context.Context, id string) ([]entry, error) {
	var found []entry
	t, ok, err := s.s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if ok {
		found = append(found, storedEntry(t))
	}
	for f, err := range s.s.Dead(ctx) {
		if err != nil {
			return nil, err
		}
		if f.ID == id {
			found = append(found, deadEntry(f))
			break
		}
	}
	if len(found) == 0 {
		return nil, s.none("timer", id, ": it is done or cancelled, or was never scheduled")
	}
	return found, nil
}

// none returns the error that there is no such timer.
func (s *folder) none(what, id, more string) error {
	return statusError{fmt.Sprintf("there is no %s %q in %s%s", what, id, s.dir, more), nil, statusNotFound}
}

// list returns the timers that a query selects. The kind of a timer that foliot serve has made is in its payload, where the
// store does not look.
func (s *folder) list(ctx context.Context, q durable.Query) iter.Seq2[entry, error] {
	all := q
	all.Kind, all.Limit = "", 0
	return some(mapped(s.s.List(ctx, all), storedEntry), q.Limit, func(e entry) bool { return q.Kind == "" || e.kind == q.Kind })
}

// dead returns the dead timers that a query selects.
func (s *folder) dead(ctx context.Context, q durable.Query) iter.Seq2[entry, error] {
	return some(mapped(s.s.Dead(ctx), deadEntry), q.Limit, func(e entry) bool { return selects(q, e) })
}

// some returns at most limit of the entries that keep selects, and errors; 0 is no limit.
func some(entries iter.Seq2[entry, error], limit int, keep func(entry) bool) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		n := 0
		for e, err := range entries {
			if err == nil && !keep(e) {
				continue
			}
			if !yield(e, err) {
				return
			}
			if n++; n == limit {
				return
			}
		}
	}
}

// selects reports whether a query selects a dead timer, apart from its limit.
func selects(q durable.Query, f entry) bool {
	return strings.HasPrefix(f.id, q.Prefix) &&
		(q.After == "" || f.id > q.After) &&
		(q.Kind == "" || f.kind == q.Kind) &&
		(q.From.IsZero() || !f.at.Before(q.From)) &&
		(q.To.IsZero() || f.at.Before(q.To))
}

func (s *folder) cancel(ctx context.Context, id string, rev *uint64) error {
	var on []durable.If
	if rev != nil {
		on = append(on, durable.IfRev(*rev))
	}
	ok, err := s.s.Cancel(ctx, id, on...)
	if errors.Is(err, durable.ErrRev) {
		return statusError{fmt.Sprintf("timer %q has another revision than that of --if-rev", id), err, statusConflict}
	}
	if ok || err != nil {
		return err
	}
	_, there, err := s.s.Get(ctx, id)
	switch {
	case err != nil:
		return err
	case there:
		return fmt.Errorf("timer %q was being handled when the last process ended, so nothing is armed; its handler is called again in the next run", id)
	}
	return s.none("timer", id, "")
}

func (s *folder) redrive(ctx context.Context, id string) error {
	ok, err := s.s.Redrive(ctx, id)
	if errors.Is(err, durable.ErrExists) {
		return statusError{fmt.Sprintf("there is a timer %q; cancel it first, or discard the dead one", id), err, statusConflict}
	}
	if !ok && err == nil {
		err = s.none("dead timer", id, "")
	}
	return err
}

func (s *folder) discard(ctx context.Context, id string) error {
	ok, err := s.s.Discard(ctx, id)
	if !ok && err == nil {
		err = s.none("dead timer", id, "")
	}
	return err
}
