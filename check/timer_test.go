package check

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

// setting is one kind of runtime on one kind of machine.
type setting struct {
	procs   int
	workers int
	resized bool // Resize is called all the while
}

func (s setting) String() string {
	name := fmt.Sprintf("procs=%d,workers=%d", s.procs, s.workers)
	if s.resized {
		name += ",resized"
	}
	return name
}

func settings() (ss []setting) {
	for _, procs := range []int{1, 2, 8} {
		for _, workers := range []int{1, 2} {
			ss = append(ss, setting{procs, workers, false}, setting{procs, workers, true})
		}
	}
	return ss
}

// options varies what should make no difference to a history: ticks so coarse that
// many timers are due at once, or so fine that each is due alone, slack, and who runs
// the callbacks.
func (s setting) options(seed uint64) foliot.Options {
	o := foliot.Options{Workers: s.workers, Resolution: 16384 * time.Nanosecond}
	switch seed % 8 {
	case 1:
		o.Resolution = time.Microsecond
	case 2:
		o.Resolution = time.Millisecond
	case 3:
		o.Slack = 100 * time.Microsecond
	case 4:
		o.Go = func(f func()) { go f() }
	case 5:
		o.Precise = true
	}
	return o
}

// linearizable judges random histories of m in every setting until the budget is spent.
func linearizable(t *testing.T, m mix) {
	t.Helper()
	all := settings()
	for _, s := range all {
		t.Run(s.String(), func(t *testing.T) {
			was := runtime.GOMAXPROCS(s.procs)
			defer runtime.GOMAXPROCS(was)
			limit := time.Now().Add(share(len(all)))
			for seed := *seedFlag; seed == *seedFlag || time.Now().Before(limit); seed++ {
				o := s.options(seed)
				r, err := foliot.New(o)
				if err != nil {
					t.Fatal(err)
				}
				end := settled
				if seed%4 == 3 {
					end = abrupt
				}
				if err := newBatch(runtimeSubject{r, o.Resolution}, m, seed).run(8, end, s.resized); err != nil {
					report(t, seed, err)
				}
			}
		})
	}
}

func TestOneTimerIsLinearizable(t *testing.T)   { linearizable(t, oneTimer) }
func TestTimersAreLinearizable(t *testing.T)    { linearizable(t, severalTimers) }
func TestOneShotsAreLinearizable(t *testing.T)  { linearizable(t, oneShots) }
func TestEverythingIsLinearizable(t *testing.T) { linearizable(t, everything) }
