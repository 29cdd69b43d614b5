package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// outcomeTests test that each occurrence has one outcome.
var outcomeTests = []test{
	{name: "A handler gets the timer, not early, and it is done", run: firesOnce},
	{name: "Drop ends a timer", run: drops},
	{name: "A handler that fails is called again with the same Key", run: retries},
	{name: "Retries go on after reopening", run: retriesAfterReopening},
	{name: "Attempts of one Key do not overlap", run: noOverlap, needs: needsOneNode},
	{name: "A handler that panics has failed", run: panics},
	{name: "A handler that calls Goexit has failed", run: exits},
	{name: "An infinite number of attempts is possible", run: triesForever},
}

// deadTests test timers whose attempts are used up.
var deadTests = []test{
	{name: "A timer whose attempts are used up is dead", run: dies},
	{name: "A dead timer has the error of its last attempt, also after reopening", run: deadError},
	{name: "A timer whose attempts were cut off by crashes is dead, and says so", run: deadByCrashes, needs: needsCrash},
	{name: "A dead timer holds no ID", run: deadHoldsNoID},
	{name: "Redrive arms a dead timer for now under a new revision", run: redrives},
	{name: "Redrive returns ErrExists if there is a timer", run: redriveExists},
	{name: "Discard removes a dead timer", run: discards},
	{name: "Dead timers survive reopening, and are in the order of their IDs", run: deadSurvive},
}

func firesOnce(k *kit) {
	k.handleDone()
	k.ready()
	rev := k.scheduleTimer(durable.Timer{ID: "x", At: start.Add(time.Second), Kind: kind, Payload: []byte("payload")})
	k.clock.Advance(time.Second - time.Microsecond)
	time.Sleep(time.Millisecond)
	k.waitFires(0)
	f := k.advance(time.Microsecond, 1)[0]
	want := durable.Fire{Timer: durable.Timer{ID: "x", At: start.Add(time.Second), Kind: kind, Payload: []byte("payload"), Rev: rev}, Attempt: 1}
	if !same(f.Timer, want.Timer) || f.Attempt != 1 || f.Missed != 0 || f.Late != 0 {
		k.Errorf("the handler is called with %+v, want %+v", f, want)
	}
	k.eventuallyAbsent("x")
	k.cancel("x", false)
	k.advance(time.Hour, 1)
}

func drops(k *kit) {
	k.handle(kind, func(context.Context, durable.Fire) error { return fmt.Errorf("no use: %w", durable.Drop) })
	k.ready()
	k.schedule("x", 0)
	k.waitFires(1)
	k.eventuallyAbsent("x")
	k.eventually("Stats.Dropped is 1", func() bool { return k.s.Stats().Dropped == 1 })
	k.advance(time.Hour, 1)
	if d := k.dead(); len(d) != 0 {
		k.Errorf("a dropped timer is dead: %v", fireNames(d))
	}
}

func retries(k *kit) {
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		if f.Attempt < 4 {
			return errHandler
		}
		return nil
	})
	k.with(func(o *durable.Options) { o.Retry = durable.Retry{Min: time.Second, Max: 4 * time.Second} })
	k.ready()
	rev := k.scheduleTimer(durable.Timer{ID: "x", At: start, Kind: kind, Payload: []byte("p")})
	k.waitFires(1)
	for n := 2; n <= 4; n++ {
		k.settle()
		if got := k.get("x"); got.Rev != rev || !got.At.Equal(start) {
			k.Errorf("between attempts, Get returns %+v, want revision %d", got, rev)
		}
		for passed := time.Duration(0); passed < 4*time.Second && len(k.fires()) < n; passed += time.Second / 10 {
			k.clock.Advance(time.Second / 10)
		}
		got := k.waitFires(n)
		if pause := got[n-1].Late - got[n-2].Late; pause < time.Second {
			k.Errorf("attempt %d comes %v after the last one, before Retry.Min", n, pause)
		}
	}
	for i, f := range k.fires() {
		if f.Attempt != i+1 || f.Rev != rev || string(f.Payload) != "p" || !f.At.Equal(start) {
			k.Errorf("attempt %d is %+v, want revision %d", i+1, f, rev)
		}
	}
	k.eventuallyAbsent("x")
	k.advance(time.Hour, 4)
}

func retriesAfterReopening(k *kit) {
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		if f.Attempt < 3 {
			return errHandler
		}
		return nil
	})
	k.ready()
	rev := k.schedule("x", 0)
	k.waitFires(1)
	k.settle()
	k.reopen()
	k.ready()
	k.waitFires(1) // the time of the next attempt has not come
	k.advance(time.Second, 2)
	k.settle()
	k.reopen()
	k.clock.Advance(time.Hour)
	k.ready()
	got := k.waitFires(3)
	for i, f := range got {
		if f.Attempt != i+1 || f.Rev != rev {
			k.Errorf("attempt %d is %s#%d, want revision %d", i+1, f.Key(), f.Attempt, rev)
		}
	}
	k.eventuallyAbsent("x")
}

func noOverlap(k *kit) {
	k.onRealClock()
	var mu sync.Mutex
	busy := map[string]bool{}
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		mu.Lock()
		if busy[f.Key()] {
			k.Errorf("two attempts of %s overlap", f.Key())
		}
		busy[f.Key()] = true
		mu.Unlock()
		time.Sleep(2 * time.Millisecond)
		mu.Lock()
		delete(busy, f.Key())
		mu.Unlock()
		if f.Attempt < 3 {
			return errHandler
		}
		return nil
	})
	k.with(func(o *durable.Options) { o.Retry = durable.Retry{Min: time.Millisecond, Max: time.Millisecond} })
	k.run()
	now := time.Now()
	for i := range 20 {
		k.scheduleTimer(durable.Timer{ID: fmt.Sprint("once", i), At: now.Add(time.Duration(i) * time.Millisecond), Kind: kind})
		k.scheduleTimer(durable.Timer{ID: fmt.Sprint("periodic", i), At: now, Every: 3 * time.Millisecond, Kind: kind})
	}
	k.eventually("the timers that are due once are done", func() bool {
		return len(k.list(durable.Query{Prefix: "once"})) == 0
	})
}

func panics(k *kit) {
	failsThenDone(k, func() { panic("the handler of the test panics") })
	if got := k.logs.with("the handler of the test panics"); len(got) == 0 || !strings.Contains(strings.Join(got, "\n"), "outcome.go") {
		k.Errorf("the panic is not logged with its stack: %q", got)
	}
	if n := k.s.Stats().Panicked; n != 1 {
		k.Errorf("Stats.Panicked is %d, want 1", n)
	}
}

func exits(k *kit) { failsThenDone(k, runtime.Goexit) }

// failsThenDone checks that a handler that ends in some way is called again.
func failsThenDone(k *kit, fail func()) {
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		if f.Attempt == 1 {
			fail()
		}
		return nil
	})
	k.ready()
	k.schedule("x", 0)
	k.waitFires(1)
	k.settle()
	k.get("x")
	if got := k.advance(time.Second, 2); got[1].Attempt != 2 || got[1].Key() != got[0].Key() {
		k.Errorf("the calls are %v", fireNames(got))
	}
	k.eventuallyAbsent("x")
}

func triesForever(k *kit) {
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		if f.Attempt <= 40 {
			return errHandler
		}
		return nil
	})
	k.with(func(o *durable.Options) { o.Retry.Attempts = -1 })
	k.ready()
	k.schedule("x", 0)
	for n := 1; n <= 41; n++ {
		k.waitFires(n)
		k.settle()
		k.clock.Advance(time.Second)
	}
	k.eventuallyAbsent("x")
}

// die makes timers dead after two attempts. It leaves a Run.
func die(k *kit, timers ...durable.Timer) {
	k.Helper()
	if k.handlers[kind] == nil {
		k.handle(kind, func(context.Context, durable.Fire) error { return errHandler })
		k.with(func(o *durable.Options) { o.Retry.Attempts = 2 })
		k.ready()
	}
	before, dead := len(k.fires()), len(k.dead())
	for _, t := range timers {
		k.scheduleTimer(t)
	}
	k.waitFires(before + len(timers))
	k.settle()
	k.advance(time.Second, before+2*len(timers))
	k.settle()
	k.eventually("the timers are dead", func() bool { return len(k.dead()) == dead+len(timers) })
}

func dies(k *kit) {
	die(k, durable.Timer{ID: "x", At: start.Add(-time.Minute), Kind: kind, Payload: []byte("p")})
	rev := k.fires()[0].Rev
	k.absent("x")
	if ids := k.list(durable.Query{}); len(ids) != 0 {
		k.Errorf("List yields %q", ids)
	}
	d := k.dead()
	want := durable.Timer{ID: "x", At: start.Add(-time.Minute), Kind: kind, Payload: []byte("p"), Rev: rev}
	if len(d) != 1 || !same(d[0].Timer, want) || d[0].Attempt != 2 {
		k.Errorf("the dead timers are %+v, want %+v after 2 attempts", d, want)
	}
	k.eventually("Stats.Dead, Died and Retried are 1", func() bool {
		s := k.s.Stats()
		return s.Dead == 1 && s.Died == 1 && s.Retried == 1
	})
	k.cancel("x", false)
	k.advance(time.Hour, 2)
}

func deadError(k *kit) {
	long := strings.Repeat("a", 1<<10-1) + "é" // the last character would be cut in two
	errs := map[string]struct{ err, want string }{
		"plain":   {"no use", "no use"},
		"long":    {long, long[:1<<10-1]},
		"invalid": {"\xffwas\xfe", "\uFFFDwas\uFFFD"},
		"panics":  {"", "the handler panicked: of the test"},
		"empty":   {"", ""},
	}
	k.handle(kind, func(_ context.Context, f durable.Fire) error {
		switch {
		case f.Error != "":
			k.Errorf("a handler is called with the error %q", f.Error)
		case f.Attempt == 1:
			return errHandler
		case f.ID == "panics":
			panic("of the test")
		}
		return errors.New(errs[f.ID].err)
	})
	k.with(func(o *durable.Options) { o.Retry.Attempts = 2 })
	k.ready()
	for id := range errs {
		k.schedule(id, 0)
	}
	k.waitFires(len(errs))
	k.settle()
	k.advance(time.Second, 2*len(errs))
	k.eventually("the timers are dead", func() bool { return len(k.dead()) == len(errs) })
	check := func() {
		k.Helper()
		for _, f := range k.dead() {
			if want := errs[f.ID].want; f.Error != want {
				k.Errorf("the error of %s is %q, want %q", f.ID, f.Error, want)
			}
		}
	}
	check()
	k.reopen()
	check()
	if ok, err := k.s.Redrive(k.ctx, "plain"); !ok || err != nil {
		k.Errorf("Redrive returns %t and %v", ok, err)
	}
	k.ready()
	k.waitFires(2*len(errs) + 1) // without an error
}

func deadByCrashes(k *kit) {
	k.with(func(o *durable.Options) { o.Retry.Attempts = 1 })
	block := make(chan struct{})
	defer close(block)
	k.handle(kind, func(context.Context, durable.Fire) error { <-block; return nil })
	k.ready()
	k.schedule("x", 0)
	for n := 1; n <= 2; n++ {
		k.waitFires(n)
		k.crash()
		k.ready()
	}
	k.eventually("the timer is dead", func() bool { return len(k.dead()) == 1 })
	if f := k.dead()[0]; f.Attempt != 2 || !strings.Contains(f.Error, "the process ended") {
		k.Errorf("the dead timer has attempt %d and the error %q, want 2 and that the process ended", f.Attempt, f.Error)
	}
	k.absent("x")
}

func deadHoldsNoID(k *kit) {
	die(k, durable.Timer{ID: "x", At: start, Kind: kind})
	old := k.dead()[0].Rev
	rev := k.scheduleTimer(durable.Timer{ID: "x", At: start.Add(time.Hour), Kind: kind}, durable.IfAbsent())
	if rev <= old {
		k.Errorf("a new timer has revision %d after the dead one had %d", rev, old)
	}
	if d := k.dead(); len(d) != 1 || d[0].Rev != old {
		k.Errorf("the dead timers are %v, want revision %d", fireNames(d), old)
	}
	k.cancel("x", true)
	if d := k.dead(); len(d) != 1 {
		k.Error("Cancel of the new timer removes the dead one")
	}
}

func redrives(k *kit) {
	die(k, durable.Timer{ID: "x", At: start, Kind: kind, Payload: []byte("p")}, durable.Timer{ID: "y", At: start, Kind: kind})
	old := k.dead()[0].Rev
	k.mustStop()
	if ok, err := k.s.Redrive(k.ctx, "x"); !ok || err != nil {
		k.Fatalf("Redrive returns %t and %v", ok, err)
	}
	got := k.get("x")
	if got.Rev <= old || !got.At.Equal(k.clock.Now()) || string(got.Payload) != "p" || got.Kind != kind {
		k.Errorf("after Redrive of revision %d at %v, Get returns %+v", old, k.clock.Now(), got)
	}
	if d := k.dead(); len(d) != 1 || d[0].ID != "y" {
		k.Errorf("after Redrive of x the dead timers are %v", fireNames(d))
	}
	if ok, err := k.s.Redrive(k.ctx, "z"); ok || err != nil {
		k.Errorf("Redrive of a timer that is not there returns %t and %v", ok, err)
	}
	k.scheduler()
	k.ready()
	if f := k.waitFires(5)[4]; f.ID != "x" || f.Rev != got.Rev || f.Attempt != 1 || string(f.Payload) != "p" {
		k.Errorf("after Redrive the handler is called with %+v", f)
	}
	if ok, err := k.s.Redrive(k.ctx, "y"); !ok || err != nil { // while Run runs
		k.Fatalf("Redrive returns %t and %v", ok, err)
	}
	k.waitFires(6)
}

func redriveExists(k *kit) {
	die(k, durable.Timer{ID: "x", At: start, Kind: kind})
	rev := k.schedule("x", time.Hour)
	if ok, err := k.s.Redrive(k.ctx, "x"); ok || !is(err, durable.ErrExists) {
		k.Errorf("Redrive returns %t and %v, want ErrExists", ok, err)
	}
	if got := k.get("x"); got.Rev != rev {
		k.Errorf("Redrive changes revision %d to %d", rev, got.Rev)
	}
	if len(k.dead()) != 1 {
		k.Error("Redrive removes the dead timer though it returns ErrExists")
	}
}

func discards(k *kit) {
	die(k, durable.Timer{ID: "x", At: start, Kind: kind})
	for _, want := range []bool{true, false} {
		if ok, err := k.s.Discard(k.ctx, "x"); ok != want || err != nil {
			k.Errorf("Discard returns %t and %v, want %t", ok, err, want)
		}
	}
	if d := k.dead(); len(d) != 0 {
		k.Errorf("after Discard the dead timers are %v", fireNames(d))
	}
	if ok, err := k.s.Redrive(k.ctx, "x"); ok || err != nil {
		k.Errorf("Redrive after Discard returns %t and %v", ok, err)
	}
	k.schedule("armed", time.Hour)
	if ok, err := k.s.Discard(k.ctx, "armed"); ok || err != nil {
		k.Errorf("Discard of a timer that is armed returns %t and %v", ok, err)
	}
	k.get("armed")
}

func deadSurvive(k *kit) {
	var timers []durable.Timer
	for i := range 20 {
		timers = append(timers, durable.Timer{ID: fmt.Sprint(i * 7 % 20), At: start, Kind: kind, Payload: []byte("p")})
	}
	die(k, timers...)
	before := k.dead()
	k.reopen()
	after := k.dead()
	ids := fireIDs(after)
	if !slices.IsSorted(ids) || len(ids) != 20 || !slices.Equal(fireNames(before), fireNames(after)) {
		k.Errorf("the dead timers are %v, and after reopening %v", fireNames(before), fireNames(after))
	}
	for _, f := range after {
		if string(f.Payload) != "p" || f.Kind != kind || !f.At.Equal(start) {
			k.Errorf("after reopening a dead timer is %+v", f)
		}
	}
	for f, err := range k.s.Dead(k.ctx) { // a caller may stop early
		if err != nil || f.ID != ids[0] {
			k.Errorf("Dead begins with %q and %v", f.ID, err)
		}
		break
	}
}
