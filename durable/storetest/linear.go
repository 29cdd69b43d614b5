package storetest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/foliot-go/foliot/durable"
)

// linearTests test that the operations on an ID are linearizable, the firing included.
var linearTests = []test{
	{name: "Schedule, Cancel and the firing are linearizable per ID", run: linearizable},
}

// A call is what a history has of an operation.
type call struct {
	op   string // schedule, cancel, get, fire, done, fail
	cond string // of schedule and cancel: "", absent, rev
	rev  uint64 // of IfRev, and of the occurrence of fire, done, fail
}

// A result is what an operation has returned.
type result struct {
	ok  bool
	err string // "", exists, rev
	rev uint64 // of schedule and get
}

// A model is the state of an ID.
type model struct {
	has  bool
	busy bool   // a handler is running for rev, and nothing is armed
	rev  uint64 // of the timer
	last uint64 // the greatest revision so far
}

// step returns whether a result is possible for a call, and the state afterwards.
func (m model) step(c call, r result) (bool, model) {
	armed := m.has && !m.busy
	switch c.op {
	case "schedule":
		switch {
		case c.cond == "absent" && m.has:
			return r.err == "exists", m
		case c.cond == "rev" && (!armed || m.rev != c.rev):
			return r.err == "rev", m
		}
		return r.err == "" && r.rev > m.last, model{has: true, rev: r.rev, last: r.rev}
	case "cancel":
		switch {
		case !m.has:
			return !r.ok && r.err == "", m
		case c.cond == "rev" && m.rev != c.rev:
			return !r.ok && r.err == "rev", m
		case m.busy:
			return !r.ok && (r.err == "" || c.cond == "rev" && r.err == "rev"), m
		}
		return r.ok && r.err == "", model{last: m.last}
	case "get":
		return r.ok == m.has && (!r.ok || r.rev == m.rev), m
	case "fire":
		fired := m
		fired.busy = true
		return armed && m.rev == c.rev, fired
	}
	if !m.busy || m.rev != c.rev { // it was replaced
		return true, m
	}
	if c.op == "fail" { // it is armed for another attempt
		return true, model{has: true, rev: m.rev, last: m.last}
	}
	return true, model{last: m.last}
}

var linearModel = porcupine.Model{
	Init: func() any { return model{} },
	Step: func(state, input, output any) (bool, any) { return state.(model).step(input.(call), output.(result)) },
}

// A history is what happens to the IDs of a test.
type history struct {
	begin time.Time
	mu    sync.Mutex
	ops   map[string][]porcupine.Operation
	next  int // the number of the next client
}

func (h *history) now() int64 { return int64(time.Since(h.begin)) }

// add adds an operation. Each has its own client: the firing has none, and porcupine needs only times.
func (h *history) add(id string, c call, from int64, r result, to int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	h.ops[id] = append(h.ops[id], porcupine.Operation{ClientId: h.next, Input: c, Output: r, Call: from, Return: to})
}

// do calls f and adds it.
func (h *history) do(k *kit, id string, c call, f func() (result, error)) result {
	from := h.now()
	r, err := f()
	switch {
	case is(err, durable.ErrExists):
		r.err = "exists"
	case is(err, durable.ErrRev):
		r.err = "rev"
	case err != nil:
		k.Errorf("%+v of %s returns %v", c, id, err)
	}
	h.add(id, c, from, r, h.now())
	return r
}

func linearizable(k *kit) {
	const (
		ids     = 12
		clients = 4
		rounds  = 14
		gap     = 8 * time.Millisecond // of the deadlines of an ID
	)
	h := &history{begin: time.Now(), ops: map[string][]porcupine.Operation{}}
	var ends sync.Map // by Key: when the last attempt has ended
	k.onRealClock()
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		from := int64(0)
		if end, ok := ends.Load(f.Key()); ok {
			from = end.(int64)
		}
		h.add(f.ID, call{op: "fire", rev: f.Rev}, from, result{}, h.now())
		if f.Rev%3 == 0 {
			time.Sleep(time.Millisecond)
		}
		op, err := "done", error(nil)
		if f.Attempt < 3 && f.Rev%2 == 0 {
			op, err = "fail", errHandler
		}
		end := h.now()
		ends.Store(f.Key(), end)
		h.add(f.ID, call{op: op, rev: f.Rev}, end, result{}, int64(1)<<62) // its end is decided some time later
		return err
	})
	k.with(func(o *durable.Options) {
		o.Retry = durable.Retry{Min: 2 * time.Millisecond, Max: 4 * time.Millisecond, Attempts: -1}
	})
	k.run()
	var wg sync.WaitGroup
	for id := range ids {
		for client := range clients {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(id), uint64(client)))
				begin := h.begin.Add(20 * time.Millisecond)
				seen := uint64(0)
				for round := range rounds {
					deadline := begin.Add(time.Duration(round) * gap)
					time.Sleep(time.Until(deadline.Add(-gap/2 + time.Duration(r.Int64N(int64(gap*3/4))))))
					seen = oneCall(k, h, r, fmt.Sprint(id), seen, deadline)
				}
			})
		}
	}
	wg.Wait()
	k.eventually("all timers have an outcome", func() bool { return len(k.list(durable.Query{})) == 0 })
	k.settle()
	h.check(k)
}

// oneCall makes one random call for an ID, and returns the revision that the caller knows then.
func oneCall(k *kit, h *history, r *rand.Rand, id string, seen uint64, deadline time.Time) uint64 {
	c := call{op: []string{"schedule", "schedule", "cancel", "cancel", "get"}[r.IntN(5)]}
	if c.op == "get" && !k.c.OneNode {
		return seen // Get may return what was true a moment ago
	}
	var on []durable.If
	switch n := r.IntN(4); {
	case c.op == "get":
	case n == 0 && c.op == "schedule":
		c.cond, on = "absent", []durable.If{durable.IfAbsent()}
	case n == 1:
		c.cond, c.rev, on = "rev", seen, []durable.If{durable.IfRev(seen)}
	}
	out := h.do(k, id, c, func() (result, error) {
		switch c.op {
		case "schedule":
			rev, err := k.s.Schedule(k.ctx, durable.Timer{ID: id, At: deadline, Kind: kind}, on...)
			return result{rev: rev}, err
		case "cancel":
			ok, err := k.s.Cancel(k.ctx, id, on...)
			return result{ok: ok}, err
		}
		t, ok, err := k.s.Get(k.ctx, id)
		return result{ok: ok, rev: t.Rev}, err
	})
	if out.rev != 0 {
		return out.rev
	}
	return seen
}

// check checks the history of each ID.
func (h *history) check(k *kit) {
	k.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	unknown := 0
	for id, ops := range h.ops {
		switch porcupine.CheckOperationsTimeout(linearModel, ops, k.c.Patience/4) {
		case porcupine.Illegal:
			k.Errorf("the history of timer %s is not linearizable:\n%s", id, historyText(ops))
		case porcupine.Unknown:
			unknown++
		}
	}
	if unknown > len(h.ops)/2 {
		k.Errorf("%d of %d histories are too long to be checked", unknown, len(h.ops))
	}
}

// historyText returns the operations in the order in which they began.
func historyText(ops []porcupine.Operation) string {
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var b strings.Builder
	for _, op := range ops {
		fmt.Fprintf(&b, "%12d %12d %+v %+v\n", op.Call, op.Return, op.Input, op.Output)
	}
	return b.String()
}
