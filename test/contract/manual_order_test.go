package contract_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
)

// An orderOracle arms timers from one goroutine in many ways. It knows the order in which they must
// run: by deadline, then by their last arming.
type orderOracle struct {
	t       *testing.T
	clock   *foliot.ManualClock
	armings []arming // in the order of arming
	ran     []int
}

// An arming is the last arming of a timer.
type arming struct {
	id int
	at time.Time
}

func (o *orderOracle) callback(id int) func() { return func() { o.ran = append(o.ran, id) } }

// armed records that timer id was armed with the delay d.
func (o *orderOracle) armed(id int, d time.Duration) {
	o.armings = slices.DeleteFunc(o.armings, func(a arming) bool { return a.id == id })
	o.armings = append(o.armings, arming{id, o.clock.Now().Add(max(0, d))})
}

// want returns the timers in the order in which they must run.
func (o *orderOracle) want() []int {
	sorted := slices.Clone(o.armings)
	slices.SortStableFunc(sorted, func(a, b arming) int { return a.at.Compare(b.at) })
	ids := make([]int, len(sorted))
	for i, a := range sorted {
		ids[i] = a.id
	}
	return ids
}

func (o *orderOracle) check() {
	o.t.Helper()
	want := o.want()
	if len(o.ran) != len(want) {
		o.t.Fatalf("%d timers ran, want %d", len(o.ran), len(want))
	}
	for i := range want {
		if o.ran[i] != want[i] {
			o.t.Fatalf("run %d is of timer %d, want timer %d", i, o.ran[i], want[i])
		}
	}
}

// armRandom arms n timers on the runtimes in turn, one by one and in batches, with many equal
// deadlines. It arms some of them again.
func (o *orderOracle) armRandom(n int, runtimes ...*foliot.Runtime) {
	delay := func() time.Duration { return time.Duration(kit.Random(n/8)) * millisecond }
	timers := map[int]foliot.Timer{}
	for id := 0; id < n; {
		r := runtimes[id%len(runtimes)]
		switch kit.Random(4) {
		case 0:
			d := delay()
			timers[id] = kit.After(o.t, r, d, o.callback(id))
			o.armed(id, d)
			id++
		case 1:
			timer := kit.NewTimer(o.t, r, o.callback(id))
			for range 1 + kit.Random(2) {
				d := delay()
				timer.Reset(d)
				o.armed(id, d)
			}
			timers[id] = timer
			id++
		case 2:
			calls := make([]foliot.Call, min(1+kit.Random(20), n-id))
			for i := range calls {
				calls[i] = foliot.Call{After: delay(), Func: o.callback(id + i)}
				o.armed(id+i, calls[i].After)
			}
			batch, err := r.AfterFuncBatch(nil, calls)
			if err != nil {
				o.t.Fatal(err)
			}
			for _, timer := range batch {
				timers[id] = timer
				id++
			}
		case 3:
			if id == 0 {
				continue
			}
			old, d := kit.Random(id), delay()
			if kit.Random(2) == 0 {
				timers[old].Reset(d)
			} else {
				timers[old].ResetAt(o.clock.Now().Add(d))
			}
			o.armed(old, d)
		}
	}
}

func TestAManualClockRunsByDeadlineThenArmingOrder(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 8, 64} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			r, clock := kit.NewManual(t, foliot.Options{Workers: workers})
			o := &orderOracle{t: t, clock: clock}
			o.armRandom(1000, r)
			clock.Advance(second)
			o.check()
		})
	}
}

func TestAManualClockAdvancedInSmallStepsRunsInTheSameOrder(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{Workers: 4})
	o := &orderOracle{t: t, clock: clock}
	o.armRandom(500, r)
	for range 200 {
		clock.Advance(5 * millisecond)
	}
	o.check()
}

func TestSeveralRuntimesOnOneClockRunByDeadline(t *testing.T) {
	clock := foliot.NewManualClock(kit.Epoch)
	var runtimes []*foliot.Runtime
	for i := range 3 {
		runtimes = append(runtimes, kit.NewRuntime(t, foliot.Options{Clock: clock, Workers: 1 + i}))
	}
	type run struct{ at, want time.Duration }
	var ran []run
	for i := range 600 {
		d := time.Duration(kit.Random(200)) * millisecond
		kit.After(t, runtimes[i%3], d, func() { ran = append(ran, run{clock.Now().Sub(kit.Epoch), d}) })
	}
	clock.Advance(second)
	if len(ran) != 600 {
		t.Fatalf("%d of 600 ran", len(ran))
	}
	if !slices.IsSortedFunc(ran, func(a, b run) int { return cmp.Compare(a.want, b.want) }) {
		t.Error("the timers did not run in the order of their deadlines")
	}
	for _, e := range ran {
		if e.at != e.want {
			t.Fatalf("a timer of %v ran at %v", e.want, e.at)
		}
	}
}

func TestEqualDeadlinesOnSeveralRuntimesRunInArmingOrder(t *testing.T) {
	clock := foliot.NewManualClock(kit.Epoch)
	var runtimes []*foliot.Runtime
	for i := range 3 {
		runtimes = append(runtimes, kit.NewRuntime(t, foliot.Options{Clock: clock, Workers: 1 + i}))
	}
	o := &orderOracle{t: t, clock: clock}
	o.armRandom(1000, runtimes...)
	clock.Advance(second)
	o.check()
}

func TestACallbackMayArmOnAnotherRuntimeOfTheSameClock(t *testing.T) {
	clock := foliot.NewManualClock(kit.Epoch)
	a := kit.NewRuntime(t, foliot.Options{Clock: clock, Workers: 2})
	b := kit.NewRuntime(t, foliot.Options{Clock: clock, Workers: 2})
	var log []string
	record := func(what string) { log = append(log, fmt.Sprintf("%s@%v", what, clock.Now().Sub(kit.Epoch))) }
	kit.After(t, a, second, func() {
		record("a")
		kit.After(t, b, second, func() {
			record("b")
			kit.After(t, a, 0, func() { record("a") })
		})
	})
	kit.After(t, b, 1500*millisecond, func() { record("b") })
	clock.Advance(3 * second)
	if want := []string{"a@1s", "b@1.5s", "b@2s", "a@2s"}; !slices.Equal(log, want) {
		t.Errorf("ran %v, want %v", log, want)
	}
}

func TestResizeKeepsTheOrderOfAManualClock(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{Workers: 4})
	o := &orderOracle{t: t, clock: clock}
	o.armRandom(300, r)
	for _, workers := range []int{2, 7, 1, 3} {
		if err := r.Resize(workers); err != nil {
			t.Fatal(err)
		}
	}
	clock.Advance(second)
	o.check()
}
