package check

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	seedFlag = flag.Uint64("seed", 1, "the `number` random histories start from")
	budget   = flag.Duration("budget", 3*time.Second, "`time` to spend on random histories, for each test of them")
)

// share is one of n parts of the budget.
func share(n int) time.Duration {
	b := *budget
	if testing.Short() {
		b = min(b, 300*time.Millisecond)
	}
	return b / time.Duration(n)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
