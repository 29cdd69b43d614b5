package storetest

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// revTests test that a revision never goes back for an ID.
var revTests = []test{
	{name: "A revision never goes back", run: revsGrow},
	{name: "A revision never goes back in a crash", run: revsGrowInACrash, needs: needsCrash},
}

// closedTests test a store that is closed.
var closedTests = []test{
	{name: "After Close every call is ErrClosed", run: callsAfterClose},
	{name: "Close waits for calls that run", run: closesWhileCalled},
}

func revsGrow(k *kit) { revsGrowOver(k, k.reopen) }

func revsGrowInACrash(k *kit) { revsGrowOver(k, k.crash) }

// revsGrowOver does many things to one ID, and ends the store now and then.
func revsGrowOver(k *kit, end func()) {
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		switch string(f.Payload) {
		case "dead":
			return errHandler
		case "drop":
			return durable.Drop
		}
		return nil
	})
	k.with(func(o *durable.Options) { o.Retry.Attempts = 1 })
	k.ready()
	r := rand.New(rand.NewPCG(7, 8))
	last := uint64(0)
	see := func(what string, rev uint64) {
		k.Helper()
		if rev <= last {
			k.Fatalf("%s gives revision %d after %d", what, rev, last)
		}
		last = rev
	}
	fire := func(what, payload string, every time.Duration) {
		k.Helper()
		n := len(k.fires())
		see(what, k.scheduleTimer(durable.Timer{ID: "x", At: k.clock.Now(), Kind: kind, Payload: []byte(payload), Every: every}))
		if f := k.waitFires(n + 1)[n]; f.Rev != last {
			k.Fatalf("the handler is called with revision %d, want %d", f.Rev, last)
		}
		k.settle()
	}
	for range 120 {
		switch r.IntN(8) {
		case 0:
			see("Schedule", k.schedule("x", time.Hour))
		case 1:
			_, _, err := k.s.Get(k.ctx, "x")
			if _, cancelled := k.s.Cancel(k.ctx, "x"); cancelled != nil || err != nil {
				k.Fatal(cancelled, err)
			}
		case 2:
			fire("Schedule before done", "done", 0)
		case 3:
			fire("Schedule before dropped", "drop", 0)
		case 4:
			fire("Schedule before dead", "dead", 0)
		case 5:
			k.cancelIfThere("x")
			n := len(k.fires())
			ok, err := k.s.Redrive(k.ctx, "x")
			if err != nil {
				k.Fatal(err)
			}
			if ok {
				see("Redrive", k.waitFires(n + 1)[n].Rev)
				k.settle()
			}
		case 6:
			fire("Schedule of a series", "done", time.Hour)
			see("the next occurrence", k.get("x").Rev)
		case 7:
			k.settle()
			k.mustStop()
			end()
			k.ready()
		}
	}
}

// cancelIfThere cancels a timer if there is one.
func (k *kit) cancelIfThere(id string) {
	k.Helper()
	if _, err := k.s.Cancel(k.ctx, id); err != nil {
		k.Fatal(err)
	}
}

func callsAfterClose(k *kit) {
	k.handleDone()
	k.schedule("x", time.Hour)
	list, dead := k.s.List(k.ctx, durable.Query{}), k.s.Dead(k.ctx)
	if err := k.store.Close(); err != nil {
		k.Fatalf("Close returns %v", err)
	}
	t := durable.Timer{ID: "y", At: start, Kind: kind}
	errs := map[string]error{"List": nil, "List by due": nil, "Dead": nil}
	_, errs["Schedule"] = k.s.Schedule(k.ctx, t)
	_, errs["Schedule with IfAbsent"] = k.s.Schedule(k.ctx, t, durable.IfAbsent())
	_, errs["ScheduleBatch"] = k.s.ScheduleBatch(k.ctx, []durable.Timer{t, {ID: "z", At: start, Kind: kind}})
	_, errs["ScheduleBatch of nothing"] = k.s.ScheduleBatch(k.ctx, nil)
	_, errs["Cancel"] = k.s.Cancel(k.ctx, "x")
	_, errs["Cancel of no timer"] = k.s.Cancel(k.ctx, "y")
	_, _, errs["Get"] = k.s.Get(k.ctx, "x")
	_, _, errs["Get of no timer"] = k.s.Get(k.ctx, "y")
	_, errs["Redrive"] = k.s.Redrive(k.ctx, "x")
	_, errs["Discard"] = k.s.Discard(k.ctx, "x")
	errs["Run"] = k.s.Run(k.ctx)
	errs["Close"] = k.store.Close()
	for _, err := range list {
		errs["List"] = err
	}
	for _, err := range k.s.List(k.ctx, durable.Query{ByDue: true, After: "x"}) {
		errs["List by due"] = err
	}
	for _, err := range dead {
		errs["Dead"] = err
	}
	for name, err := range errs {
		if !is(err, durable.ErrClosed) {
			k.Errorf("%s after Close returns %v, want ErrClosed", name, err)
		}
	}
	k.s.Stats() // must not panic
}

func closesWhileCalled(k *kit) {
	k.handleDone()
	results := make(chan error)
	for i := range 8 {
		go func() {
			for {
				_, err := k.s.Schedule(context.Background(), durable.Timer{ID: string(rune('a' + i)), At: start.Add(time.Hour), Kind: kind})
				if err == nil {
					_, err = k.s.Cancel(context.Background(), string(rune('a'+i)))
				}
				if err != nil {
					results <- err
					return
				}
			}
		}()
	}
	time.Sleep(5 * time.Millisecond)
	if err := k.store.Close(); err != nil {
		k.Errorf("Close returns %v", err)
	}
	for range 8 {
		if err := <-results; !is(err, durable.ErrClosed) {
			k.Errorf("a call that runs while the store is closed returns %v, want nil or ErrClosed", err)
		}
	}
}
