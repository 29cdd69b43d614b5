package check

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

// A setting is a number of processors and a kind of runtime.
type setting struct {
	procs   int
	workers int
	resized bool // Resize is called again and again
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

// options returns options that must not affect whether a history is legal: resolutions so coarse
// that many timers are due at once, or so fine that each is due alone, slack, and Options.Go.
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

// checkLinearizable checks random histories of a workload in every setting until the budget is
// spent.
func checkLinearizable(t *testing.T, load workload) {
	t.Helper()
	settings := settings()
	for _, s := range settings {
		t.Run(s.String(), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(s.procs))
			limit := time.Now().Add(share(len(settings)))
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
				b := newBatch(runtimeSubject{r, o.Resolution}, load, seed)
				if err := b.run(8, end, s.resized); err != nil {
					report(t, seed, err)
				}
			}
		})
	}
}

func TestOneTimerIsLinearizable(t *testing.T)          { checkLinearizable(t, oneTimer) }
func TestTimersAreLinearizable(t *testing.T)           { checkLinearizable(t, severalTimers) }
func TestOneShotsAreLinearizable(t *testing.T)         { checkLinearizable(t, oneShots) }
func TestTimersOfAllKindsAreLinearizable(t *testing.T) { checkLinearizable(t, allOps) }
