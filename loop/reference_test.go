package loop_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/foliot-go/foliot/internal/testkit"
)

// difference returns an error that says where two traces differ, with the lines before.
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
		return fmt.Errorf("line %d of the trace is %q, want %q; the lines before are\n  %s",
			i+1, at(got), at(want), before)
	}
	return nil
}

// programCount returns how many of n random programs a test runs: a tenth with -short. A program
// has one goroutine, so the test is skipped under the race detector.
func programCount(t *testing.T, n uint64) uint64 {
	t.Helper()
	testkit.SkipUnderRace(t, "the programs have one goroutine")
	if testing.Short() {
		n /= 10
	}
	return n
}

func randomProgram(rng *rand.Rand) program {
	p := make(program, 1+programOpSize*(10+rng.IntN(120)))
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return p
}

func TestALoopBehavesLikeTheReference(t *testing.T) {
	for seed := range programCount(t, 3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := randomProgram(rng)
		start := delays[rng.IntN(12)]
		if err := difference(runLoop(p, true, start), runReference(p, true, start)); err != nil {
			t.Fatalf("seed %d: %v\n%v", seed, err, p)
		}
	}
}

// In a bubble callbacks take time. So the test finds a loop that reads the clock at a
// wrong place, or does not read it at a place where it must.
func TestALoopInABubbleBehavesLikeTheReference(t *testing.T) {
	for seed := range programCount(t, 1000) {
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
