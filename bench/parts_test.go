package bench

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestThePartsOfATimerDoAllOperations(t *testing.T) {
	for _, g := range []int{1, 3} {
		for _, part := range armAndStopPartsOf(g, 90) {
			for _, ops := range []int{0, 1, 1000} {
				if failed := part.do(ops); failed != 0 {
					t.Errorf("%s, %d goroutines, %d operations: %d failed", part.name, g, ops, failed)
				}
			}
		}
	}
}

func TestTheSumOfThePartsIsComparedRoundByRound(t *testing.T) {
	s := testRun(2)
	spinFor := func(d time.Duration) func(int) int {
		return func(ops int) int { spin(time.Duration(ops) * d); return 0 }
	}
	p := partsRun{
		name: "work", n: 10, ops: []int{100, 100},
		parts: []timerPart{{"a", spinFor(5 * time.Microsecond)}, {"b", spinFor(10 * time.Microsecond)}},
	}
	for range 2 {
		if err := p.round(s, time.Millisecond); err != nil {
			t.Fatal(err)
		}
		s.addCost("work", false, "std", 10, cost{cpu: 1e9, wall: 1e9})
	}
	p.addMultiples(s)
	got := map[string]Row{}
	for _, m := range s.report(scenario{}, nil).Measures {
		got[m.Name] = m.Rows[0]
	}
	sum, multiple := got["work: the sum of the parts: wall"], got["work, in sums of the parts: wall"]
	if sum.Value.Rounds != 2 || sum.Value.Min < 15e3 {
		t.Errorf("sum %+v, want two rounds of at least 15 µs", sum)
	}
	if multiple.Value.Rounds != 2 || math.Abs(multiple.Value.Max*sum.Value.Min/1e9-1) > 1e-9 {
		t.Errorf("multiple %+v of %+v", multiple, sum)
	}
}

func TestAPartThatFailsEndsTheScenario(t *testing.T) {
	p := partsRun{name: "work", ops: []int{10}, parts: []timerPart{{"broken", func(int) int { return 3 }}}}
	err := p.round(testRun(1), time.Millisecond)
	if failed := (failedOpsError{}); !errors.As(err, &failed) || !strings.Contains(err.Error(), "broken: 3 of 10") {
		t.Errorf("error %v", err)
	}
}
