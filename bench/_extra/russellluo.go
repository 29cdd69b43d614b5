//go:build peers_extra

package bench

import (
	"time"

	"github.com/RussellLuo/timingwheel"
)

func init() {
	contenders = append(contenders, contender{
		Contender: Contender{Name: "russellluo", Title: "RussellLuo's timingwheel", Module: "github.com/RussellLuo/timingwheel", Kind: Peer},
		timers:    russellLuoTimers, coarse: true,
	})
}

// russellLuoTimers cannot be reset.
func russellLuoTimers() (timers, error) {
	w := timingwheel.NewTimingWheel(time.Millisecond, 512)
	w.Start()
	return newFleet(funcs[*timingwheel.Timer]{
		afterFunc: func(d time.Duration, f func()) (*timingwheel.Timer, error) { return w.AfterFunc(d, f), nil },
		stop:      (*timingwheel.Timer).Stop,
		close:     w.Stop,
	}), nil
}
