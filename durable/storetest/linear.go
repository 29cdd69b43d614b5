package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/linear"
)

// linearTests test that the operations on an ID are linearizable, the firing included.
var linearTests = []test{
	{name: "Schedule, Cancel and the firing are linearizable per ID", run: linearizable},
}

// histories are what happens to the IDs of a test.
type histories struct {
	begin time.Time
	mu    sync.Mutex
	byID  map[string]*linear.History
}

func (h *histories) now() int64 { return int64(time.Since(h.begin)) }

func (h *histories) add(id string, c linear.Call, from int64, r linear.Result, to int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byID[id] == nil {
		h.byID[id] = new(linear.History)
	}
	h.byID[id].Add(c, from, r, to)
}

// do calls f and adds it.
func (h *histories) do(k *kit, id string, c linear.Call, f func() (linear.Result, error)) linear.Result {
	from := h.now()
	r, err := f()
	r.Exists, r.BadRev = is(err, durable.ErrExists), is(err, durable.ErrRev)
	if err != nil && !r.Exists && !r.BadRev {
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
	h := &histories{begin: time.Now(), byID: map[string]*linear.History{}}
	var ends sync.Map // by Key: when the last attempt has ended
	k.onRealClock()
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		from := int64(0)
		last, again := ends.Load(f.Key())
		if again {
			from = last.(int64)
		}
		h.add(f.ID, linear.Call{Op: linear.Fire, Rev: f.Rev, Attempt: f.Attempt}, from, linear.Result{}, h.now())
		if f.Rev%3 == 0 {
			time.Sleep(time.Millisecond)
		}
		op, err := linear.Done, error(nil)
		switch {
		case f.Rev%5 == 1 && !again:
			op, err = linear.Postpone, durable.Postpone(nil, 2*time.Millisecond)
		case f.Attempt < 3 && f.Rev%2 == 0:
			op, err = linear.Fail, errHandler
		}
		end := h.now()
		ends.Store(f.Key(), end)
		h.add(f.ID, linear.Call{Op: op, Rev: f.Rev}, end, linear.Result{}, linear.Later)
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
func oneCall(k *kit, h *histories, r *rand.Rand, id string, seen uint64, deadline time.Time) uint64 {
	c := linear.Call{Op: []linear.Op{linear.Schedule, linear.Schedule, linear.Cancel, linear.Cancel, linear.Get}[r.IntN(5)]}
	if c.Op == linear.Get && !k.c.OneNode {
		return seen // Get may return what was true a moment ago
	}
	var on []durable.If
	switch n := r.IntN(4); {
	case c.Op == linear.Get:
	case n == 0 && c.Op == linear.Schedule:
		c.Absent, on = true, []durable.If{durable.IfAbsent()}
	case n == 1:
		c.IfRev, c.Rev, on = true, seen, []durable.If{durable.IfRev(seen)}
	}
	out := h.do(k, id, c, func() (linear.Result, error) {
		switch c.Op {
		case linear.Schedule:
			rev, err := k.s.Schedule(k.ctx, durable.Timer{ID: id, At: deadline, Kind: kind}, on...)
			return linear.Result{Rev: rev}, err
		case linear.Cancel:
			ok, err := k.s.Cancel(k.ctx, id, on...)
			return linear.Result{OK: ok}, err
		}
		t, ok, err := k.s.Get(k.ctx, id)
		return linear.Result{OK: ok, Rev: t.Rev}, err
	})
	if out.Rev != 0 {
		return out.Rev
	}
	return seen
}

// check checks the history of each ID.
func (h *histories) check(k *kit) {
	k.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	unknown := 0
	for id, history := range h.byID {
		sure, err := history.Check(k.c.Patience / 4)
		if err != nil {
			k.Errorf("timer %s: %v", id, err)
		}
		if !sure {
			unknown++
		}
	}
	if unknown > len(h.byID)/2 {
		k.Errorf("%d of %d histories are too long to be checked", unknown, len(h.byID))
	}
}
