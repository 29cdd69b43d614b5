package jetstream

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
)

func TestRepartition(t *testing.T) {
	t.Parallel()
	b := one(t)
	o := b.options(t)
	for n := 1; n < 8; n++ {
		t.Cleanup(func() {
			nc := b.connect()
			defer nc.Close()
			_, _ = nc.Request("$JS.API.STREAM.DELETE."+partitionName(o.Stream, n), nil, 5*time.Second)
		})
	}
	revs, want := map[string]uint64{}, map[string]durable.Timer{}
	fill := func(s *Store, round int) {
		t.Helper()
		for i := range 40 {
			tm := durable.Timer{ID: fmt.Sprintf("timer %d", i), At: time.Now().Add(time.Hour).Round(0), Kind: "k", Payload: fmt.Append(nil, round, i)}
			if i%4 == round%4 && round > 0 {
				if ok, err := s.Cancel(t.Context(), tm.ID, durable.Condition{}); !ok || err != nil {
					t.Fatalf("Cancel returns %t and %v", ok, err)
				}
				delete(want, tm.ID)
				continue
			}
			if i%4 == 3 && round > 0 && want[tm.ID].ID != "" {
				continue // it keeps its revision
			}
			rev, err := s.Schedule(t.Context(), []durable.Timer{tm}, durable.Condition{})
			if err != nil {
				t.Fatal(err)
			}
			if rev[0] <= revs[tm.ID] {
				t.Errorf("%s has revision %d after %d", tm.ID, rev[0], revs[tm.ID])
			}
			tm.Rev, revs[tm.ID] = rev[0], rev[0]
			want[tm.ID] = tm
		}
	}
	check := func(s *Store) {
		t.Helper()
		n := 0
		for got, err := range s.List(t.Context(), durable.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			w := want[got.ID]
			if got.Rev != w.Rev || !got.At.Equal(w.At) || !bytes.Equal(got.Payload, w.Payload) {
				t.Errorf("List yields %+v, want %+v", got, w)
			}
			n++
		}
		if n != len(want) {
			t.Errorf("there are %d timers, want %d", n, len(want))
		}
	}
	s := b.store(t, o)
	fill(s, 0)
	nc := b.connect()
	if err := Repartition(t.Context(), nc, o, 3); err == nil || !strings.Contains(err.Error(), "end all processes") {
		t.Errorf("Repartition while a process runs returns %v", err)
	}
	_ = s.Close()
	for round, n := range []int{4, 2, 7, 1, 1} {
		if err := Repartition(t.Context(), nc, o, n); err != nil {
			t.Fatalf("Repartition to %d returns %v", n, err)
		}
		o.Partitions = n + 1
		if _, err := Open(t.Context(), nc, o); err == nil || !strings.Contains(err.Error(), "Repartition") {
			t.Errorf("Open with another number of partitions returns %v", err)
		}
		o.Partitions = 0
		s := b.store(t, o)
		if len(s.parts) != n {
			t.Errorf("after Repartition to %d there are %d partitions", n, len(s.parts))
		}
		check(s)
		fill(s, round+1)
		check(s)
		_ = s.Close()
	}
	for _, n := range []int{0, -1, 65} {
		if err := Repartition(t.Context(), nc, o, n); !errors.Is(err, durable.ErrInvalid) {
			t.Errorf("Repartition to %d returns %v", n, err)
		}
	}
}

func TestRepartitionThatWasCutOffGoesOn(t *testing.T) {
	t.Parallel()
	b := one(t)
	o := b.options(t)
	s := b.store(t, o)
	const timers = 200
	revs := map[string]uint64{}
	for i := range timers {
		id := fmt.Sprint(i)
		rev, err := s.Schedule(t.Context(), []durable.Timer{{ID: id, At: time.Now().Add(time.Hour), Kind: "k", Payload: []byte(id)}}, durable.Condition{})
		if err != nil {
			t.Fatal(err)
		}
		revs[id] = rev[0]
	}
	_ = s.Close()
	nc := b.connect()
	full, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	left := timers / 2
	r := &repartition{s: newStore(nc, full), to: 3, moved: func() error {
		if left--; left < 0 {
			return errCrash
		}
		return nil
	}}
	if err := r.s.guarded(t.Context(), r.run); !errors.Is(err, errCrash) {
		t.Fatalf("Repartition that is cut off returns %v", err)
	}
	if _, err := Open(t.Context(), nc, o); err == nil || !strings.Contains(err.Error(), "call Repartition again") {
		t.Errorf("Open after Repartition was cut off returns %v", err)
	}
	if err := Repartition(t.Context(), nc, o, 5); err == nil || !strings.Contains(err.Error(), "same number") {
		t.Errorf("Repartition to another number returns %v", err)
	}
	if err := Repartition(t.Context(), nc, o, 3); err != nil {
		t.Fatal(err)
	}
	s = b.store(t, o)
	if n := s.Counts().Pending; n != timers {
		t.Errorf("there are %d timers, want %d", n, timers)
	}
	for id, rev := range revs {
		if got, ok, err := s.Get(t.Context(), id); !ok || err != nil || got.Rev != rev || string(got.Payload) != id {
			t.Errorf("Get of %s returns %+v, %t and %v, want revision %d", id, got, ok, err, rev)
		}
	}
	for _, n := range []int{1, 2} {
		_, _ = nc.Request("$JS.API.STREAM.DELETE."+partitionName(o.Stream, n), nil, 5*time.Second)
	}
}
