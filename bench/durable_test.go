package bench

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"
)

// eachDurableStore calls test with the store of each contender that keep accepts, and with a function that closes the
// store and opens it again.
func eachDurableStore(t *testing.T, keep func(durableMaker) bool, test func(t *testing.T, st durableStore, reopen func() durableStore)) {
	for name, m := range durableMakers {
		if !keep(m) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			st, err := m.open(dir, 20*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := st.close(); err != nil {
					t.Error(err)
				}
			}()
			test(t, st, func() durableStore {
				if err := st.close(); err != nil {
					t.Fatal(err)
				}
				if st, err = m.open(dir, 20*time.Millisecond); err != nil {
					t.Fatal(err)
				}
				return st
			})
		})
	}
}

func TestDurableStoresFireWhatWasNotCancelledOnceAndNotEarly(t *testing.T) {
	fires := func(m durableMaker) bool { return m.fires }
	eachDurableStore(t, fires, func(t *testing.T, st durableStore, _ func() durableStore) {
		const n = 20
		begin := time.Now().Add(time.Second).Truncate(0) // without the monotonic clock, as stores return it
		at := func(i int) time.Time { return begin.Add(time.Duration(i) * 10 * time.Millisecond) }
		if err := st.fill(0, n, at); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < n; i += 2 {
			if err := st.cancel(orderID(i)); err != nil {
				t.Errorf("cancel of %s: %v", orderID(i), err)
			}
			if st.cancel(orderID(i)) == nil {
				t.Errorf("a second cancel of %s succeeded", orderID(i))
			}
		}
		var mu sync.Mutex
		var got []time.Duration
		all := make(chan struct{})
		stop, err := st.run(func(due time.Time) {
			mu.Lock()
			defer mu.Unlock()
			if time.Now().Before(due) {
				t.Errorf("fired %v early", time.Until(due))
			}
			if got = append(got, due.Sub(begin)); len(got) == n/2 {
				close(all)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-all:
		case <-time.After(30 * time.Second):
			t.Error("not all timers have fired after 30 seconds")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		var want []time.Duration
		for i := 1; i < n; i += 2 {
			want = append(want, at(i).Sub(begin))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("fired %v, want %v", got, want)
		}
	})
}

func TestDurableStoresThatCanBeOpenedAgainHaveTheirTimers(t *testing.T) {
	opens := func(m durableMaker) bool { return m.opens }
	eachDurableStore(t, opens, func(t *testing.T, st durableStore, reopen func() durableStore) {
		if err := st.fill(0, 10, inHours); err != nil {
			t.Fatal(err)
		}
		if err := st.schedule(orderID(10), time.Now()); err != nil {
			t.Fatal(err)
		}
		st = reopen()
		fired := make(chan struct{}, 1)
		stop, err := st.run(func(time.Time) { fired <- struct{}{} })
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-fired:
		case <-time.After(30 * time.Second):
			t.Error("the timer that was due has not fired after 30 seconds")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		for i := range 10 {
			if err := st.cancel(orderID(i)); err != nil {
				t.Errorf("cancel of %s: %v", orderID(i), err)
			}
		}
	})
}

func TestOrderIDsHaveTheSameLengthAndOrderAsTheirNumbers(t *testing.T) {
	numbers := []int{0, 1, 9, 10, 99, 100, 123_456_789}
	var ids []string
	for _, i := range numbers {
		ids = append(ids, orderID(i))
		if len(orderID(i)) != 16 {
			t.Errorf("%d: %q has %d bytes", i, orderID(i), len(orderID(i)))
		}
	}
	if !slices.IsSorted(ids) || ids[len(ids)-1] != "order-0123456789" {
		t.Errorf("got %q", ids)
	}
}

func TestDurableTimersAreComparedWithOtherStoresAndNotWithTheStandardLibrary(t *testing.T) {
	names := []string{"durable-schedule", "durable-late", "durable-open"}
	r, err := Run(context.Background(), Options{Timers: 100, Rounds: 1, Scenarios: names, Contenders: []string{"durable"}})
	if err != nil {
		t.Fatal(err)
	}
	bases := map[string]string{}
	for _, s := range r.Scenarios {
		if s.Error != "" {
			t.Errorf("%s: %s", s.Name, s.Error)
		}
		for _, m := range s.Measures {
			if m.Main {
				bases[s.Name] = m.Base
			}
			for _, row := range m.Rows {
				if row.Error != "" {
					t.Errorf("%s, %s, %s: %s", s.Name, m.Name, row.Contender, row.Error)
				}
				if row.Contender == "durable" && m.Main && row.N != durableHighRate && row.Ratio.Rounds == 0 {
					t.Errorf("%s, %s, %d: no ratio to the base", s.Name, m.Name, row.N)
				}
			}
		}
	}
	want := map[string]string{"durable-schedule": "pebble", "durable-late": "sqlite-poll", "durable-open": "pebble"}
	for name, base := range want {
		if bases[name] != base {
			t.Errorf("%s: the base is %q, want %q", name, bases[name], base)
		}
	}
	if losses, priced, compared := r.Losses(); len(losses) != 0 || priced != 0 || compared != 0 {
		t.Errorf("%d losses, %d priced, %d compared with the standard library, want none", len(losses), priced, compared)
	}
}
