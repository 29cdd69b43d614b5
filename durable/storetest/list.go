package storetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// listTests test List against a filter over all timers.
var listTests = []test{
	{name: "List yields what a filter over all timers yields", run: listsAsAFilter},
	{name: "List goes through all timers in pages", run: listsInPages},
	{name: "IDs sort bytewise", run: sortsBytewise},
	{name: "List is in order while timers change", run: listsInOrder},
	{name: "A caller of List may stop early, and may change timers meanwhile", run: listsAndChanges},
}

// randomTimers schedules timers with random fields and returns them.
func randomTimers(k *kit, r *rand.Rand, n int) []durable.Timer {
	k.Helper()
	byID := map[string]durable.Timer{}
	var batch []durable.Timer
	for range n {
		id := ""
		for range 1 + r.IntN(5) {
			id += string([]rune("aab/éz日")[r.IntN(7)])
		}
		t := durable.Timer{
			ID:   id,
			At:   start.Add(time.Duration(r.IntN(20)) * time.Minute),
			Kind: []string{"a", "b", "c"}[r.IntN(3)],
		}
		if r.IntN(2) == 0 {
			t.Payload = []byte(id)
		}
		byID[id] = t
		batch = append(batch, t)
	}
	for part := range slices.Chunk(batch, 100) {
		if _, err := k.s.ScheduleBatch(k.ctx, part); err != nil {
			k.Fatal(err)
		}
	}
	var all []durable.Timer
	for _, t := range byID {
		all = append(all, t)
	}
	return all
}

// filter returns the IDs that a query selects, in order.
func filter(all []durable.Timer, q durable.Query) (ids []string) {
	order := func(a, b durable.Timer) int {
		if c := a.At.Compare(b.At); q.ByDue && c != 0 {
			return c
		}
		return cmp.Compare(a.ID, b.ID)
	}
	slices.SortFunc(all, order)
	after := slices.IndexFunc(all, func(t durable.Timer) bool { return t.ID == q.After })
	for i, t := range all {
		switch {
		case !strings.HasPrefix(t.ID, q.Prefix),
			q.Kind != "" && t.Kind != q.Kind,
			!q.From.IsZero() && t.At.Before(q.From),
			!q.To.IsZero() && !t.At.Before(q.To),
			q.After != "" && q.ByDue && i <= after,
			q.After != "" && !q.ByDue && t.ID <= q.After,
			q.Limit > 0 && len(ids) == q.Limit:
		default:
			ids = append(ids, t.ID)
		}
	}
	return ids
}

func listsAsAFilter(k *kit) {
	r := rand.New(rand.NewPCG(3, 4))
	all := randomTimers(k, r, 500)
	k.reopen()
	for range 120 {
		q := durable.Query{ByDue: r.IntN(2) == 0}
		some := all[r.IntN(len(all))]
		if r.IntN(2) == 0 {
			q.Prefix = string([]rune(some.ID)[:1])
		}
		if r.IntN(3) == 0 {
			q.Kind = []string{"a", "b", "c", "unknown"}[r.IntN(4)]
		}
		if r.IntN(2) == 0 {
			q.From = start.Add(time.Duration(r.IntN(22)-1) * time.Minute)
		}
		if r.IntN(2) == 0 {
			q.To = start.Add(time.Duration(r.IntN(22)-1) * time.Minute)
		}
		if r.IntN(2) == 0 {
			q.After = some.ID
		}
		if r.IntN(8) == 0 && !q.ByDue {
			q.After = "b/" // need not be there
		}
		if r.IntN(2) == 0 {
			q.Limit = 1 + r.IntN(30)
		}
		if got, want := k.list(q), filter(all, q); !slices.Equal(got, want) {
			k.Fatalf("List of %+v yields %d timers %.200q, want %d %.200q", q, len(got), got, len(want), want)
		}
	}
	wide := durable.Query{ByDue: true, From: time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	if got := k.list(wide); len(got) != len(all) {
		k.Errorf("List between far times yields %d timers, want %d", len(got), len(all))
	}
}

func listsInPages(k *kit) {
	all := randomTimers(k, rand.New(rand.NewPCG(5, 6)), 700)
	for _, byDue := range []bool{false, true} {
		q := durable.Query{ByDue: byDue, Limit: 37}
		var got []string
		for {
			page := k.list(q)
			got = append(got, page...)
			if len(page) < q.Limit {
				break
			}
			q.After = page[len(page)-1]
		}
		if want := filter(all, durable.Query{ByDue: byDue}); !slices.Equal(got, want) {
			k.Errorf("the pages with ByDue %t have %d timers in another order than the %d of the store", byDue, len(got), len(want))
		}
	}
}

func sortsBytewise(k *kit) {
	want := []string{"!", "A", "B", "a", "a ", "a!", "aa", "b", "~", "ä", "é", "ﬀ", "𐀀"}
	for i := range want {
		k.schedule(want[i*5%len(want)], time.Hour)
	}
	for _, byDue := range []bool{false, true} {
		if got := k.list(durable.Query{ByDue: byDue}); !slices.Equal(got, want) {
			k.Errorf("with ByDue %t, List yields %q, want %q", byDue, got, want)
		}
	}
	if got := k.list(durable.Query{Prefix: "a"}); !slices.Equal(got, want[3:7]) {
		k.Errorf("List with a prefix yields %q", got)
	}
}

func listsInOrder(k *kit) {
	const n = 400
	for i := range n {
		k.schedule(fmt.Sprintf("%03d", i), time.Duration(i)*time.Minute)
	}
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		r := rand.New(rand.NewPCG(11, 12))
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			t := durable.Timer{ID: fmt.Sprintf("%03d", r.IntN(n)), At: start.Add(time.Duration(r.IntN(n)) * time.Minute), Kind: kind}
			if _, err := k.s.Schedule(k.ctx, t); err != nil {
				stopped <- err
				return
			}
		}
	}()
	for i := range 20 {
		q := durable.Query{ByDue: i%2 == 0}
		var last durable.Timer
		for t, err := range k.s.List(k.ctx, q) {
			if err != nil {
				k.Fatal(err)
			}
			if last.ID != "" && (q.ByDue && t.At.Before(last.At) || !q.ByDue && t.ID <= last.ID) {
				k.Fatalf("List of %+v yields %s at %v after %s at %v", q, t.ID, t.At, last.ID, last.At)
			}
			last = t
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		k.Error(err)
	}
}

func listsAndChanges(k *kit) {
	for i := range 600 {
		k.schedule(fmt.Sprintf("%03d", i), time.Hour)
	}
	n := 0
	for t, err := range k.s.List(k.ctx, durable.Query{}) {
		if err != nil {
			k.Fatal(err)
		}
		if want := fmt.Sprintf("%03d", n); t.ID != want {
			k.Fatalf("List yields %q, want %q", t.ID, want)
		}
		k.cancel(t.ID, true)
		n++
	}
	if n != 600 || len(k.list(durable.Query{})) != 0 {
		k.Errorf("List yields %d timers, and leaves %d after each was cancelled", n, len(k.list(durable.Query{})))
	}
	k.schedule("a", time.Hour)
	k.schedule("b", time.Hour)
	for t := range k.s.List(k.ctx, durable.Query{}) {
		if t.ID != "a" {
			k.Errorf("List begins with %q", t.ID)
		}
		break
	}
}
