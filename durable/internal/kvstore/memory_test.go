package kvstore

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// contentOf returns what an engine has, as text.
func contentOf(t *testing.T, e interface {
	Scan(from, to []byte, yield func(key, value []byte) bool) error
},
) string {
	t.Helper()
	var b strings.Builder
	if err := e.Scan([]byte{0}, []byte{0xff}, func(k, v []byte) bool {
		fmt.Fprintf(&b, "%s=%s ", k, v)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

func apply(t *testing.T, m *Memory, pairs ...string) (wait func() error) {
	t.Helper()
	b := &Batch{}
	for _, p := range pairs {
		if k, v, ok := strings.Cut(p, "="); ok {
			b.set([]byte(k), []byte(v))
		} else {
			b.delete([]byte(k))
		}
	}
	wait, err := m.Apply(b)
	if err != nil {
		t.Fatal(err)
	}
	return wait
}

func TestAMemoryLosesWhatIsNotKept(t *testing.T) {
	for keep, want := range []string{"a=2 b=1", "a=2", "a=2 c=4"} {
		m := NewMemory()
		apply(t, m, "a=1", "b=1")
		if err := apply(t, m, "a=2")(); err != nil {
			t.Fatal(err)
		}
		apply(t, m, "b")
		apply(t, m, "c=4")
		if got := contentOf(t, m); got != "a=2 c=4" || m.Open() != 2 {
			t.Errorf("before the crash it has %q and %d open batches", got, m.Open())
		}
		m.Crash(keep)
		if _, err := m.Get([]byte("a")); !errors.Is(err, ErrCrashed) {
			t.Errorf("Get after a crash returns %v", err)
		}
		if got := contentOf(t, m.Reopen()); got != want {
			t.Errorf("a crash that keeps %d batches leaves %q, want %q", keep, got, want)
		}
	}
}

func TestAMemoryKeepsEverythingWhenItIsClosed(t *testing.T) {
	m := NewMemory()
	apply(t, m, "a=1")
	snapshot := m.Snapshot()
	apply(t, m, "a", "b=2")
	if got := contentOf(t, snapshot); got != "a=1" {
		t.Errorf("a snapshot has %q", got)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Apply(&Batch{}); err == nil {
		t.Error("Apply after Close returns no error")
	}
	if got := contentOf(t, m.Reopen()); got != "b=2" {
		t.Errorf("after Close and Reopen it has %q", got)
	}
}

func TestAMemoryFailsForGood(t *testing.T) {
	m := NewMemory()
	broken := errors.New("broken")
	m.Sync = func(b *Batch) error {
		if string(b.Ops[0].Value) == "2" {
			return broken
		}
		return nil
	}
	if err := apply(t, m, "a=1")(); err != nil {
		t.Fatal(err)
	}
	if err := apply(t, m, "a=2")(); !errors.Is(err, broken) {
		t.Errorf("the wait that fails returns %v", err)
	}
	if _, err := m.Apply(&Batch{}); !errors.Is(err, broken) {
		t.Errorf("Apply after a failure returns %v", err)
	}
	if got := contentOf(t, m.Reopen()); got != "a=1" {
		t.Errorf("after a failure and Reopen it has %q", got)
	}
}

func TestAMemoryScansLikeASortedMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	m, model := NewMemory(), map[string]string{}
	for range 2000 {
		k := fmt.Sprint(r.IntN(200))
		if r.IntN(3) == 0 {
			apply(t, m, k)
			delete(model, k)
		} else {
			v := fmt.Sprint(r.IntN(10))
			apply(t, m, k+"="+v)
			model[k] = v
		}
		from, to := fmt.Sprint(r.IntN(200)), fmt.Sprint(r.IntN(200))
		var got, want []string
		_ = m.Scan([]byte(from), []byte(to), func(k, v []byte) bool {
			got = append(got, string(k)+"="+string(v))
			return true
		})
		for _, k := range slices.Sorted(maps.Keys(model)) {
			if from <= k && k < to {
				want = append(want, k+"="+model[k])
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("Scan from %s to %s yields %q, want %q", from, to, got, want)
		}
	}
}
