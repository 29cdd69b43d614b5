package jetstream

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
	"github.com/foliot-go/foliot/internal/testkit"
)

// costs are what a timer costs that is due once and done at the first attempt, with an ID of 16 bytes, a kind
// of 4 and a payload of 32. TestTheCostsOfATimer measures them.
type costs struct {
	pending  float64 // bytes in the stream while it is armed
	handling float64 // bytes in the stream while it is handled
	outcome  float64 // bytes in the stream after its end, until that expires
	changes  float64 // messages from Schedule to the outcome
	index    float64 // bytes in the memory of each process while it is armed, with the ID, at most
}

var measured = costs{pending: 198, handling: 230, outcome: 158, changes: 3, index: 183}

// A load is what timers do in the long run: as many come as go.
type load struct {
	pending  float64
	fires    float64       // in a second
	outcomes time.Duration // Options.Outcomes
}

// A machine is what servers and processes can do.
type machine struct {
	changes  float64 // that one stream with three replicas takes in a second
	messages float64 // that one process takes from its consumers in a second
	memory   float64 // bytes of a process for the index
}

// A need is what a load takes.
type need struct {
	changes float64 // in a second
	stream  float64 // bytes in all streams, in each replica
	index   float64 // bytes in the memory of each process, if there is one store
	streams float64 // partitions, for the changes
	stores  float64 // stores with their own processes: each process follows all streams of its store
}

// needs returns what a load takes.
func (c costs) needs(l load, m machine) (n need) {
	n.changes = l.fires * c.changes
	n.stream = l.pending*c.pending + l.fires*l.outcomes.Seconds()*c.outcome
	n.index = l.pending * c.index
	n.streams = math.Ceil(n.changes / m.changes)
	n.stores = math.Ceil(max(n.index/m.memory, n.changes/m.messages))
	n.streams = max(n.streams, n.stores)
	return n
}

// simulate counts what timers do, second by second: each is due after the same time, and is handled at once.
func (c costs) simulate(l load) (n need) {
	type second struct{ due, expired int }
	rate, life, outcomes := int(l.fires), int(l.pending/l.fires), int(l.outcomes.Seconds())
	all := make([]second, 2*(life+outcomes)+2)
	pending, kept := 0, 0
	for now := range life + outcomes + 1 {
		pending += rate
		all[now+life].due += rate
		changes := rate
		fired := all[now].due
		pending -= fired
		changes += 2 * fired // it fires, and is done
		kept += fired
		all[now+outcomes].expired += fired
		kept -= all[now].expired
		n.changes = float64(changes)
	}
	n.stream = float64(pending)*c.pending + float64(kept)*c.outcome
	n.index = float64(pending) * c.index
	return n
}

// seen is what two cores do that three servers share with everything else.
var seen = machine{changes: 20_000, messages: 100_000, memory: 32 << 30}

// sizes are the loads of the page.
var sizes = []struct {
	name string
	load load
}{
	{"a million pending, 1,000 fires a second", load{1e6, 1e3, 10 * time.Minute}},
	{"a hundred million pending, 10,000 fires a second", load{1e8, 1e4, 10 * time.Minute}},
	{"a billion pending, a million fires a second", load{1e9, 1e6, time.Minute}},
}

func TestSizesAreThoseOfASimulation(t *testing.T) {
	for _, l := range []load{{5000, 50, time.Minute}, {600, 100, 10 * time.Minute}, {20, 20, time.Minute}} {
		got, want := measured.needs(l, seen), measured.simulate(l)
		if got.changes != want.changes || got.stream != want.stream || got.index != want.index {
			t.Errorf("%+v needs %+v, and the simulation has %+v", l, got, want)
		}
	}
}

func TestTheSizesInThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "cluster.md"))
	if err != nil {
		t.Skip("this is not a checkout of the repository")
	}
	gb := func(bytes float64) string { return fmt.Sprintf("%.3g GB", bytes/1e9) }
	for _, s := range sizes {
		n := measured.needs(s.load, seen)
		row := fmt.Sprintf("| %s | %.0f | %s | %s | %.0f | %.0f |", s.name, n.changes, gb(n.stream), gb(n.index), n.streams, n.stores)
		if !strings.Contains(string(page), row) {
			t.Errorf("the page does not have the row\n%s", row)
		}
	}
	for _, row := range []string{
		fmt.Sprintf("| while it is armed | %.0f B in each replica, %.0f B in each process |", measured.pending, measured.index),
		fmt.Sprintf("| while it is handled | %.0f B in each replica |", measured.handling),
		fmt.Sprintf("| after its end, for `Outcomes` | %.0f B in each replica |", measured.outcome),
		fmt.Sprintf("| in its life | %.0f messages |", measured.changes),
	} {
		if !strings.Contains(string(page), row) {
			t.Errorf("the page does not have the row\n%s", row)
		}
	}
}

func TestTheCostsOfATimer(t *testing.T) {
	b := one(t)
	o := b.options(t)
	s := b.store(t, o)
	const n = 200
	info := func() streamInfo {
		t.Helper()
		if err := s.parts[0].barriers.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		info, err := s.streamInfo(t.Context(), o.Stream)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	timers, ids := make([]durable.Timer, n), make([]string, n)
	at := time.Now()
	for i := range timers {
		ids[i] = fmt.Sprintf("timer-%010d", i)
		timers[i] = durable.Timer{ID: ids[i], Kind: "kind", At: at, Payload: make([]byte, 32)}
	}
	before := info()
	per := func(bytes int64) float64 { return math.Round(float64(bytes-int64(before.State.Bytes)) / n) }
	var got costs
	for i := range timers {
		if _, err := s.Schedule(t.Context(), timers[i:i+1], durable.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	got.pending = per(int64(info().State.Bytes))
	fired, err := s.Fire(ids, durable.Rules{Now: at.Add(time.Second), Attempts: -1, Handled: func(string) bool { return true }})
	if err != nil || len(fired.Fires) != n {
		t.Fatalf("%d of %d timers fire, and the error is %v", len(fired.Fires), n, err)
	}
	got.handling = per(int64(info().State.Bytes))
	for _, f := range fired.Fires {
		if ok, _, err := s.Finish(f, durable.End{}); !ok || err != nil {
			t.Fatalf("Finish returns %t and %v", ok, err)
		}
	}
	after := info()
	got.outcome = per(int64(after.State.Bytes))
	got.changes = math.Round(float64(after.State.LastSeq-before.State.LastSeq-3) / n) // without the barriers of info
	got.index = indexBytes()
	t.Logf("%+v", got)
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.15*want {
			t.Errorf("%s: %.0f, and the page says %.0f", what, got, want)
		}
	}
	near("bytes of an armed timer", got.pending, measured.pending)
	near("bytes of a timer that is handled", got.handling, measured.handling)
	near("bytes of an outcome", got.outcome, measured.outcome)
	near("messages", got.changes, measured.changes)
	near("bytes in the index", got.index, measured.index)
}

// indexBytes returns the memory of an armed timer in the index.
func indexBytes() float64 {
	const n = 120_000 // just after the map has grown, so that it has the most room to spare
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("timer-%010d", i)
	}
	before := testkit.HeapInUse()
	x := newIndex(0)
	for i, id := range ids {
		v := view{seq: uint64(i + 1), record: moves.Record{State: moves.Armed, Kind: "kind", At: int64(i), Rev: uint64(i + 1), Payload: 32}}
		x.set(strings.Clone(id), &v, true)
	}
	bytes := float64(testkit.HeapInUse()-before) / n
	runtime.KeepAlive(x)
	runtime.KeepAlive(ids)
	return math.Round(bytes)
}
