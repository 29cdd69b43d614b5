//go:build peers_extra

package bench

import (
	"time"

	timewheel "github.com/rfyiamcool/go-timewheel"
)

func init() {
	contenders = append(contenders, contender{
		Contender: Contender{Name: "rfyiamcool", Title: "rfyiamcool's go-timewheel", Module: "github.com/rfyiamcool/go-timewheel", Kind: Peer},
		timers:    rfyiamcoolTimers, coarse: true, most: 2_000_000, why: tooMuchMemory,
	})
}

// rfyiamcoolTimers cannot be reset: the timers of that package that can leave their old deadline behind.
func rfyiamcoolTimers() (timers, error) {
	w, err := timewheel.NewTimeWheel(time.Millisecond, 4096)
	if err != nil {
		return nil, err
	}
	w.Start()
	return newFleet(funcs[*timewheel.Task]{
		afterFunc: func(d time.Duration, f func()) (*timewheel.Task, error) { return w.Add(d, f), nil },
		stop:      func(t *timewheel.Task) bool { return w.Remove(t) == nil },
		close:     w.Stop,
	}), nil
}
