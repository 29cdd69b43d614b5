package wheel_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// runPlain runs a program on a wheel of numbers.
func runPlain(p program, lim limits) error {
	return runProgram(p, lim, func(id, write int) uint32 { return uint32(id | write<<24) }, func(v uint32) int { return int(v & (1<<24 - 1)) })
}

// runPointers runs a program on a wheel of pointers, which the garbage collector scans.
func runPointers(p program, lim limits) error {
	return runProgram(p, lim, func(id, _ int) *int { return &id }, func(v *int) int { return *v })
}

// checkPrograms runs random programs, a fifth of them with -short. If one fails, it prints the
// smallest program that fails too.
func checkPrograms(t *testing.T, programs, ops int, w weights, lim limits, run func(program, limits) error) {
	t.Helper()
	if testing.Short() {
		programs = (programs + 4) / 5
	}
	for seed := range uint64(programs) {
		p := randomProgram(rand.New(rand.NewPCG(seed, uint64(lim.live))), ops, w)
		watchdog := time.AfterFunc(time.Minute, func() { panic(fmt.Sprintf("seed %d hangs:\n%v", seed, p)) })
		err := run(p, lim)
		watchdog.Stop()
		if err == nil {
			continue
		}
		small := shrink(p, func(q program) bool { return run(q, lim) != nil })
		t.Fatalf("seed %d: %v\nThe smallest program that fails:\n%v\nIt fails with: %v",
			seed, err, small, run(small, lim))
	}
}

func TestRandomProgramsGiveTheResultsOfTheOracle(t *testing.T) {
	t.Run("ten entries", func(t *testing.T) {
		checkPrograms(t, 600, 150, mixed, limits{live: 10, many: 4, work: 2000}, runPlain)
	})
	t.Run("ten pointers", func(t *testing.T) {
		checkPrograms(t, 300, 150, mixed, limits{live: 10, many: 4, work: 2000}, runPointers)
	})
	t.Run("a thousand entries", func(t *testing.T) {
		checkPrograms(t, 60, 200, mixed, limits{live: 1000, many: 300, work: 20000}, runPlain)
	})
	t.Run("a thousand pointers", func(t *testing.T) {
		checkPrograms(t, 30, 200, mixed, limits{live: 1000, many: 300, work: 20000}, runPointers)
	})
	t.Run("thousands of entries in bulk", func(t *testing.T) {
		checkPrograms(t, 40, 200, bulk, limits{live: 3000, many: 900, work: 30000}, runPlain)
	})
	t.Run("tens of thousands of entries", func(t *testing.T) {
		checkPrograms(t, 8, 100, bulk, limits{live: 40000, many: 20000, work: 200000}, runPlain)
	})
}
