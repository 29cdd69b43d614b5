package contract_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/foliot-go/foliot/wheel"
)

// A wheel has no clock and no channel. It must work in a bubble as it does outside.

// wheelSteps use a wheel and the handles of its entries. Each returns its results as a text.
var wheelSteps = []struct {
	covers string
	do     func(w *wheel.Wheel[int], handles []wheel.Handle) string
}{
	{"Wheel.Schedule", func(w *wheel.Wheel[int], _ []wheel.Handle) string {
		return fmt.Sprint(w.Schedule(25, 7) != 0, w.Len())
	}},
	{"Wheel.Reserve", func(w *wheel.Wheel[int], _ []wheel.Handle) string { return fmt.Sprint(w.Reserve(8) != 0, w.Len()) }},
	{"Wheel.Reschedule", func(w *wheel.Wheel[int], h []wheel.Handle) string { return fmt.Sprint(w.Reschedule(h[0], 30)) }},
	{"Wheel.Park", func(w *wheel.Wheel[int], h []wheel.Handle) string { return fmt.Sprint(w.Park(h[1]), w.Park(h[1])) }},
	{"Wheel.Cancel", func(w *wheel.Wheel[int], h []wheel.Handle) string {
		v, ok := w.Cancel(h[2])
		return fmt.Sprint(v, ok)
	}},
	{"Wheel.Lookup", func(w *wheel.Wheel[int], h []wheel.Handle) string {
		at, v, ok := w.Lookup(h[0])
		return fmt.Sprint(at, v, ok)
	}},
	{"Wheel.Value", func(w *wheel.Wheel[int], h []wheel.Handle) string { return fmt.Sprint(*w.Value(h[0])) }},
	{"Wheel.Entry", func(w *wheel.Wheel[int], h []wheel.Handle) string {
		at, v := w.Entry(h[0])
		return fmt.Sprint(at, *v)
	}},
	{"Wheel.Numbered", func(w *wheel.Wheel[int], h []wheel.Handle) string {
		got, at, v := w.Numbered(h[0].Number())
		return fmt.Sprint(got == h[0], at, *v)
	}},
	{"Wheel.CancelNumbered", func(w *wheel.Wheel[int], _ []wheel.Handle) string {
		return fmt.Sprint(w.CancelNumbered([]uint32{w.Schedule(25, 9).Number()}), w.Len())
	}},
	{"Handle.Number", func(_ *wheel.Wheel[int], h []wheel.Handle) string { return fmt.Sprint(h[0].Number() != h[1].Number()) }},
	{"Wheel.CountUntil", func(w *wheel.Wheel[int], _ []wheel.Handle) string { return fmt.Sprint(w.CountUntil(20)) }},
	{"Wheel.Spans", func(w *wheel.Wheel[int], _ []wheel.Handle) string { return fmt.Sprint(w.Spans(nil, 20)) }},
	{"Wheel.Sample", func(w *wheel.Wheel[int], _ []wheel.Handle) string {
		return fmt.Sprint(len(w.Sample(make([]wheel.Handle, 0, 100), rand.Uint32N)))
	}},
	{"Wheel.Len", func(w *wheel.Wheel[int], _ []wheel.Handle) string { return fmt.Sprint(w.Len()) }},
	{"Wheel.Cap", func(w *wheel.Wheel[int], _ []wheel.Handle) string { return fmt.Sprint(w.Cap()) }},
	{"Wheel.Stale", func(w *wheel.Wheel[int], _ []wheel.Handle) string { return fmt.Sprint(w.Stale()) }},
	{"Wheel.Now", func(w *wheel.Wheel[int], _ []wheel.Handle) string { return fmt.Sprint(w.Now()) }},
	{"Wheel.Next", func(w *wheel.Wheel[int], _ []wheel.Handle) string {
		at, ok := w.Next()
		return fmt.Sprint(at, ok)
	}},
	{"Wheel.Soonest", func(w *wheel.Wheel[int], _ []wheel.Handle) string {
		at, ok := w.Soonest(100)
		return fmt.Sprint(at, ok)
	}},
	{"Wheel.Nearest", func(w *wheel.Wheel[int], _ []wheel.Handle) string {
		near, all := w.Nearest(make([]wheel.Handle, 0, 10))
		return fmt.Sprint(len(near), all)
	}},
	{"Wheel.All", func(w *wheel.Wheel[int], _ []wheel.Handle) string {
		var values []int
		for _, v := range w.All() {
			values = append(values, v)
		}
		return fmt.Sprint(slices.Sorted(slices.Values(values)))
	}},
	{"Wheel.Peek", func(w *wheel.Wheel[int], h []wheel.Handle) string {
		got, at, ok := w.Peek(12)
		return fmt.Sprint(got == h[3], at, ok)
	}},
	{"Wheel.Ahead", func(w *wheel.Wheel[int], _ []wheel.Handle) string {
		return fmt.Sprint(len(w.Ahead(make([]*int, 0, 10))))
	}},
	{"Wheel.Pop", func(w *wheel.Wheel[int], h []wheel.Handle) string {
		got, at, ok := w.Pop(12)
		return fmt.Sprint(got == h[3], at, ok)
	}},
	{"Wheel.Requeue", func(w *wheel.Wheel[int], h []wheel.Handle) string { return fmt.Sprint(w.Requeue(h[3], 14)) }},
	{"Wheel.Rewind", func(w *wheel.Wheel[int], _ []wheel.Handle) string {
		w.Rewind(11)
		return fmt.Sprint(w.Now())
	}},
	{"Wheel.Advance", func(w *wheel.Wheel[int], _ []wheel.Handle) (seen string) {
		for at, v := range w.Advance(26) {
			seen += fmt.Sprint(at, v, " ")
		}
		return seen
	}},
	{"Wheel.Drain", func(w *wheel.Wheel[int], _ []wheel.Handle) string {
		var seen []string
		for at, v := range w.Drain() {
			seen = append(seen, fmt.Sprint(at, v))
		}
		slices.Sort(seen)
		return strings.Join(seen, " ")
	}},
	{"Wheel.Compact", func(w *wheel.Wheel[int], _ []wheel.Handle) string { return fmt.Sprint(w.Compact(100)) }},
	{"Wheel.Trim", func(w *wheel.Wheel[int], _ []wheel.Handle) string { return fmt.Sprint(w.Trim(math.MaxInt)) }},
}

// wheelCases run one step in a bubble and the others outside. The results must be the same as with
// all steps outside.
func wheelCases() (cases []foreignCase) {
	outside := func(_ *testing.T, f func()) { f() }
	inside := func(t *testing.T, f func()) { synctest.Test(t, func(*testing.T) { f() }) }
	for i, step := range append(slices.Clone(wheelSteps), struct {
		covers string
		do     func(w *wheel.Wheel[int], handles []wheel.Handle) string
	}{covers: "New"}) {
		cases = append(cases, foreignCase{step.covers, []string{"wheel." + step.covers}, func(t *testing.T) {
			want := runWheel(t, -1, outside)
			got := runWheel(t, i, inside)
			if !slices.Equal(got, want) {
				t.Errorf("with %s in a bubble the results are\n%q, want\n%q",
					step.covers, got, want)
			}
		}})
	}
	return cases
}

// runWheel runs all steps on a new wheel. It runs the step with the index special by calling run.
// The index after the last step stands for the creation of the wheel.
func runWheel(t *testing.T, special int, run func(t *testing.T, f func())) (results []string) {
	var w *wheel.Wheel[int]
	do := func(i int, f func()) {
		if i == special {
			run(t, f)
		} else {
			f()
		}
	}
	do(len(wheelSteps), func() { w = wheel.New[int](5, 100) })
	var handles []wheel.Handle
	for i, at := range []wheel.Tick{20, 21, 22, 11, 5000, 70_000} {
		handles = append(handles, w.Schedule(at, 100+i))
	}
	for i, step := range wheelSteps {
		do(i, func() { results = append(results, step.covers+" "+step.do(w, handles)) })
	}
	return results
}
