//go:build peers_extra

package bench

import (
	"sync/atomic"
	"time"

	"github.com/ouqiang/timewheel"
)

func init() {
	contenders = append(contenders, contender{
		Contender: Contender{Name: "ouqiang", Title: "ouqiang's timewheel", Module: "github.com/ouqiang/timewheel", Kind: Peer},
		timers:    ouqiangTimers, coarse: true, most: 2_000_000, why: tooMuchMemory,
	})
}

// ouqiangTimers know a timer by a key that the caller chooses. Ticks of less than a second are a division by
// zero.
func ouqiangTimers() (timers, error) {
	w := timewheel.New(time.Second, 3600, func(f interface{}) { f.(func())() })
	w.Start()
	var last atomic.Uint64
	return newFleet(funcs[uint64]{
		afterFunc: func(d time.Duration, f func()) (uint64, error) {
			key := last.Add(1)
			w.AddTimer(d, key, f)
			return key, nil
		},
		stop:  func(key uint64) bool { w.RemoveTimer(key); return true },
		close: w.Stop,
	}), nil
}
