package loop_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
)

// difference says where two traces part, with what led to it.
func difference(got, want []string) error {
	for i := range max(len(got), len(want)) {
		if i < len(got) && i < len(want) && got[i] == want[i] {
			continue
		}
		before := strings.Join(want[max(0, i-12):min(i, len(want))], "\n  ")
		at := func(trace []string) string {
			if i < len(trace) {
				return trace[i]
			}
			return "the end"
		}
		return fmt.Errorf("line %d of the trace is %q, want %q; before it\n  %s", i+1, at(got), at(want), before)
	}
	return nil
}

func randomProgram(rng *rand.Rand) program {
	p := make(program, 1+programOpSize*(10+rng.IntN(120)))
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return p
}

func TestALoopDoesWhatTheReferenceDoes(t *testing.T) {
	n := 3000
	if raceEnabled || testing.Short() {
		n = 500
	}
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := randomProgram(rng)
		start := delays[rng.IntN(12)]
		if err := difference(runLoop(p, true, start), runReference(p, true, start)); err != nil {
			t.Fatalf("seed %d: %v\n%v", seed, err, p)
		}
	}
}

// In a bubble callbacks take their time, and the loop has to look at the clock where it should and nowhere else.
func TestALoopInABubbleDoesWhatTheReferenceDoes(t *testing.T) {
	n := 1000
	if raceEnabled || testing.Short() {
		n = 100
	}
	for seed := range uint64(n) {
		p := randomProgram(rand.New(rand.NewPCG(seed, 2)))
		synctest.Test(t, func(t *testing.T) {
			if err := difference(runLoop(p, false, 0), runReference(p, false, 0)); err != nil {
				t.Fatalf("seed %d: %v\n%v", seed, err, p)
			}
		})
		if t.Failed() {
			return
		}
	}
}
