//go:build peers_extra

package bench

import (
	"time"

	"github.com/antlabs/timer"
)

func init() {
	contenders = append(contenders, contender{
		Contender: Contender{Name: "antlabs", Title: "antlabs' timer", Module: "github.com/antlabs/timer", Kind: Peer},
		timers:    antlabsTimers, coarse: true,
	})
}

// stopper is what a timer of antlabs can do here. Its Reset locks a mutex that it holds.
type stopper interface{ Stop() bool }

func antlabsTimers() (timers, error) {
	w := timer.NewTimer()
	go w.Run()
	return newFleet(funcs[stopper]{
		afterFunc: func(d time.Duration, f func()) (stopper, error) { return w.AfterFunc(d, f), nil },
		stop:      stopper.Stop,
		close:     w.Stop,
	}), nil
}
