package local

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/kvstore"
	"github.com/foliot-go/foliot/durable/internal/moves"
	"github.com/foliot-go/foliot/internal/testkit"
)

// contentOf returns the files of a folder.
func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	content := make(map[string]string)
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		content[f.Name()] = string(b)
	}
	return content
}

// TestReadOnly checks that a folder is the same after it was read, also one of a killed process.
func TestReadOnly(t *testing.T) {
	useSmallTables(t)
	for _, killed := range []bool{false, true} {
		dir := fillFolder(t, killed)
		before := contentOf(t, dir)
		s, err := OpenReadOnly(dir)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, err := range s.List(t.Context(), durable.Query{ByDue: true}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		testkit.Eventually(t, "the count", func() bool { return s.Counts().Exact })
		if n != filled || s.Counts().Pending != filled {
			t.Errorf("%d timers and a count of %d, want %d", n, s.Counts().Pending, filled)
		}
		timers := []durable.Timer{{ID: "a", Kind: "k", At: time.Now()}}
		if _, err := s.Schedule(t.Context(), timers, durable.Condition{}); err == nil {
			t.Error("Schedule changes a store that is open for reading")
		}
		if _, err := s.Cancel(t.Context(), "c001", durable.Condition{}); err == nil {
			t.Error("Cancel changes a store that is open for reading")
		}
		sched, err := durable.New(s, durable.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := sched.Run(t.Context()); err == nil {
			t.Error("Run fires timers of a store that is open for reading")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		report, err := Verify(dir)
		if err != nil || report.Timers != filled || len(report.Damages) > 0 {
			t.Errorf("Verify returned %+v, %v", report, err)
		}
		if !maps.Equal(before, contentOf(t, dir)) {
			t.Errorf("the folder has changed; killed: %t", killed)
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	_, err := OpenReadOnly(none)
	wantError(t, "no folder", err, none, "there is no store")
	if _, err := os.Stat(none); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
	empty := t.TempDir()
	_, err = Verify(empty)
	wantError(t, "empty folder", err, empty, "there is no store")
	if n := len(contentOf(t, empty)); n != 0 {
		t.Errorf("%d files were made", n)
	}
}

// stateFolder makes a store with a timer in each state: a is armed, l has a long payload, h is handled, r
// is tried again, ph and pr are the same of periodic timers, x is dead.
func stateFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(dir, Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	clock := foliot.NewManualClock(time.Unix(1e9, 0))
	sched, err := durable.New(s, durable.Options{
		Clock: clock, Drain: time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		Retry: durable.Retry{Min: time.Hour, Attempts: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	sched.Handle("blocks", func(context.Context, durable.Fire) error { <-release; return nil })
	sched.Handle("fails", func(context.Context, durable.Fire) error { return errors.New("fails") })
	at := clock.Now()
	ctx, cancel := context.WithCancel(t.Context())
	done := testkit.Async(func() error { return sched.Run(ctx) })
	long := make([]byte, 2000)
	_, err = sched.ScheduleBatch(ctx, []durable.Timer{
		{ID: "x", Kind: "fails", At: at},
		{ID: "a", Kind: "blocks", At: at.Add(9 * time.Hour)},
		{ID: "l", Kind: "blocks", At: at.Add(9 * time.Hour), Payload: long},
	})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the first failure", func() bool { return sched.Stats().Retried == 1 })
	clock.Advance(time.Hour)
	testkit.Eventually(t, "the death", func() bool { return sched.Stats().Died == 1 })
	at = clock.Now()
	_, err = sched.ScheduleBatch(ctx, []durable.Timer{
		{ID: "h", Kind: "blocks", At: at},
		{ID: "r", Kind: "fails", At: at},
		{ID: "ph", Kind: "blocks", At: at, Every: 9 * time.Hour},
		{ID: "pr", Kind: "fails", At: at, Every: 9 * time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the failures", func() bool { return sched.Stats().Retried == 3 && sched.Stats().Running == 2 })
	cancel()
	<-done // with an error: handlers are running
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	close(release)
	return dir
}

// TestVerifyFindsDamage changes single keys of a store.
func TestVerifyFindsDamage(t *testing.T) {
	source := stateFolder(t)
	report, err := Verify(source)
	if err != nil || len(report.Damages) > 0 || report.Timers != 6 || report.Dead != 1 {
		t.Fatalf("without damage: %+v, %v", report, err)
	}
	keys := keysOf(t, source)
	if len(keys) != 6+6+1+1+2+1+2 {
		t.Errorf("the store has %d keys: %q", len(keys), keys)
	}
	for k := range keys {
		if strings.HasPrefix(k, "m") || strings.HasPrefix(k, "x") {
			continue // nothing else says that they must be there
		}
		wantDamage(t, source, fmt.Sprintf("without %q", k), kvstore.Op{Key: []byte(k)})
	}
	for k, v := range keys {
		if strings.HasPrefix(k, "r") || strings.HasPrefix(k, "x") {
			wantDamage(t, source, fmt.Sprintf("%q cut off", k), kvstore.Op{Key: []byte(k), Value: []byte(v[:len(v)/2])})
			wantDamage(t, source, fmt.Sprintf("%q of a newer version", k), kvstore.Op{Key: []byte(k), Value: []byte("\x63" + v[1:])})
		}
	}
	for _, k := range []string{"rz", "pz", "pa", "oz", "oa", "dshort", "d12345678a", "t12345678a", "mz", "zz"} {
		wantDamage(t, source, fmt.Sprintf("with %q", k), kvstore.Op{Key: []byte(k), Value: []byte{}})
	}
	series := 0
	for k, v := range keys {
		if r, payload, err := moves.DecodeRecord([]byte(v)); strings.HasPrefix(k, "r") && err == nil && r.Every != 0 {
			series++
			r.Series = r.Rev + 1
			wantDamage(t, source, fmt.Sprintf("%q of a later series", k), kvstore.Op{Key: []byte(k), Value: append(r.Append(nil), payload...)})
		}
	}
	if series == 0 {
		t.Error("the store has no periodic timer")
	}
	wantDamage(t, source, "revisions go back", kvstore.Op{Key: []byte("mrev"), Value: make([]byte, 8)})
}

// keysOf returns the keys and values of a store.
func keysOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	e, err := openReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	keys := make(map[string]string)
	if err := e.Scan([]byte{0}, []byte{0xff}, func(k, v []byte) bool {
		keys[string(k)] = string(v)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return keys
}

// wantDamage checks that Verify notices a change of a key.
func wantDamage(t *testing.T, source, what string, op kvstore.Op) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	copyFolder(t, source, dir)
	e, err := openEngine(dir, vfs.Default, true, false)
	if err != nil {
		t.Fatal(err)
	}
	wait, err := e.Apply(&kvstore.Batch{Ops: []kvstore.Op{op}})
	if err == nil {
		err = wait()
	}
	if err := errors.Join(err, e.Close()); err != nil {
		t.Fatal(err)
	}
	report, err := Verify(dir)
	if err != nil {
		t.Errorf("%s: Verify returned %v", what, err)
	}
	if len(report.Damages) == 0 {
		t.Errorf("%s: Verify has found nothing (key %s)", what, hex.EncodeToString(op.Key))
	}
}
