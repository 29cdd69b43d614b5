package testkit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"
)

// StressTime returns how long a stress test should run: the duration in the environment
// variable FOLIOT_STRESS, for example 30s. If it is not set, it is short, or a fifth of it with
// go test -short.
func StressTime(t testing.TB, short time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv("FOLIOT_STRESS")
	if text == "" {
		if testing.Short() {
			return short / 5
		}
		return short
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("FOLIOT_STRESS: %v", err)
	}
	return d
}

// SkipIfShort skips a test with go test -short, which gives an answer within seconds. It is for
// tests that wait for a second or more, or take as long.
func SkipIfShort(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("takes too long for -short")
	}
}

// Full reports whether tests should do all that they can, however long it takes: whether the
// environment variable FOLIOT_FULL is 1.
func Full() bool { return os.Getenv("FOLIOT_FULL") == "1" }

// EachProcs runs a subtest with 2 processors, and with FOLIOT_FULL=1 also with 1 and 8. Tests
// that use it must not be parallel. Cleanups of the subtest run before the number of processors
// is set back.
func EachProcs(t *testing.T, f func(t *testing.T)) {
	counts := []int{2}
	if Full() {
		counts = []int{1, 2, 8}
	}
	for _, procs := range counts {
		t.Run(fmt.Sprintf("GOMAXPROCS %d", procs), func(t *testing.T) {
			prior := runtime.GOMAXPROCS(procs)
			t.Cleanup(func() { runtime.GOMAXPROCS(prior) })
			f(t)
		})
	}
}

// Share returns the n-th part of a budget of time. With go test -short the budget is at most
// 300 ms.
func Share(budget time.Duration, n int) time.Duration {
	if testing.Short() {
		budget = min(budget, 300*time.Millisecond)
	}
	return budget / time.Duration(n)
}

// RandomPause yields or sleeps for some milliseconds at random, and mostly does nothing. Without
// pauses a stress test would only cover overload: nothing would ever wait.
func RandomPause() {
	switch rand.IntN(64) {
	case 0:
		time.Sleep(rand.N(4 * time.Millisecond))
	case 1, 2, 3, 4, 5, 6, 7:
		time.Sleep(rand.N(300 * time.Microsecond))
	case 8, 9, 10, 11:
		runtime.Gosched()
	}
}
