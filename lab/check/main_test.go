package check

import (
	"flag"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
	"go.uber.org/goleak"
)

var (
	seedFlag = flag.Uint64("seed", 1, "the first `number` for random histories")
	budget   = flag.Duration("budget", 3*time.Second, "`time` for random histories in each test")
)

// share returns the n-th part of the budget.
func share(n int) time.Duration { return testkit.Share(*budget, n) }

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
