package bench

import (
	"errors"
	"io"
	"log"
	"runtime"
	"sync/atomic"
	"time"

	gost "github.com/dubbogo/gost/time"
	"github.com/siddontang/go/time2"
	"github.com/zeromicro/go-zero/core/collection"
)

// peers are the timers of other Go packages. Where a package lets its user choose the tick, it is a millisecond.
var peers = []contender{
	{
		Contender: Contender{Name: "go-zero", Title: "go-zero's TimingWheel", Module: "github.com/zeromicro/go-zero/core/collection", Kind: Peer},
		timers:    goZeroTimers, coarseTick: true,
		maxTimers: 2_000_000, maxTimersReason: tooMuchMemory,
	},
	{
		Contender: Contender{Name: "siddontang", Title: "siddontang's time2", Module: "github.com/siddontang/go/time2", Kind: Peer},
		timers:    siddontangTimers, coarseTick: true, hasRaces: true,
		maxTimers: 2_000_000, maxTimersReason: tooMuchMemory,
	},
	{
		Contender: Contender{Name: "gost", Title: "dubbogo's gost", Module: "github.com/dubbogo/gost/time", Kind: Peer},
		timers:    gostTimers, coarseTick: true,
		maxTimers: 2000, maxTimersReason: "not measured with so many: each insertion walks a sorted list",
	},
	{Contender: Contender{Name: "go-cache", Title: "patrickmn's go-cache", Module: "github.com/patrickmn/go-cache", Kind: Peer}},
	{Contender: Contender{Name: "ttlcache", Title: "jellydator's ttlcache", Module: "github.com/jellydator/ttlcache/v3", Kind: Peer}},
	{Contender: Contender{Name: "otter", Title: "otter", Module: "github.com/maypok86/otter/v2", Kind: Peer}},
	{Contender: Contender{Name: "thw", Title: "nats-server's thw", Module: "github.com/nats-io/nats-server/v2/server/thw", Kind: Peer}},
	{Contender: Contender{Name: "pebble", Title: "bare Pebble", Module: "github.com/cockroachdb/pebble/v2", Kind: Peer}},
	{Contender: Contender{Name: "sqlite-poll", Title: "polling SQLite", Module: "modernc.org/sqlite", Kind: Peer}},
	{Contender: Contender{Name: "asynq", Title: "asynq", Module: "github.com/hibiken/asynq", Kind: Peer}},
	{Contender: Contender{Name: "bare-publish", Title: "bare publishes", Module: "github.com/nats-io/nats.go", Kind: Peer}},
	{Contender: Contender{Name: "nats-schedule", Title: "NATS's message schedules", Module: "github.com/nats-io/nats-server/v2", Kind: Peer}},
	{Contender: Contender{Name: "bare-http", Title: "bare net/http", Kind: Peer}},
}

const tooMuchMemory = "not measured with so many, for want of memory"

// goZeroTimers identify a timer by a key that the caller chooses. They do not report whether a timer was armed.
func goZeroTimers() (timers, error) {
	w, err := collection.NewTimingWheel(time.Millisecond, 4096, func(_, f any) { f.(func())() })
	if err != nil {
		return nil, err
	}
	var last atomic.Uint64
	return newTimerSet(timerFuncs[uint64]{
		afterFunc: func(d time.Duration, f func()) (uint64, error) {
			key := last.Add(1)
			return key, w.SetTimer(key, f, d)
		},
		stop:    func(key uint64) bool { return w.RemoveTimer(key) == nil },
		reset:   func(key uint64, d time.Duration) bool { return w.MoveTimer(key, d) == nil },
		resetAt: func(key uint64, when time.Time) bool { return w.MoveTimer(key, time.Until(when)) == nil },
		close:   w.Stop,
	}), nil
}

// siddontangTimers do not report whether a timer was armed.
func siddontangTimers() (timers, error) {
	w := time2.NewWheel(time.Millisecond)
	return newTimerSet(timerFuncs[*time2.Timer]{
		afterFunc: func(d time.Duration, f func()) (*time2.Timer, error) { return w.AfterFunc(d, f), nil },
		stop:      func(t *time2.Timer) bool { t.Stop(); return true },
		reset:     func(t *time2.Timer, d time.Duration) bool { t.Reset(d); return true },
		resetAt:   func(t *time2.Timer, when time.Time) bool { t.Reset(time.Until(when)); return true },
		close:     w.Stop,
	}), nil
}

// gostTimers have a tick of ten milliseconds. They do not report whether a timer was armed.
func gostTimers() (timers, error) {
	log.SetOutput(io.Discard) // it logs that it was closed; nothing else here logs
	w := gost.NewTimerWheel()
	return newTimerSet(timerFuncs[*gost.Timer]{
		afterFunc: func(d time.Duration, f func()) (*gost.Timer, error) {
			for began := time.Now(); time.Since(began) < time.Second; {
				if t := w.AfterFunc(d, f); t != nil {
					return t, nil
				}
				runtime.Gosched() // its queue is full
			}
			return nil, errors.New("its queue stays full")
		},
		stop: func(t *gost.Timer) bool {
			if t == nil {
				return false
			}
			t.Stop()
			return true
		},
		reset:   func(t *gost.Timer, d time.Duration) bool { t.Reset(d); return true },
		resetAt: func(t *gost.Timer, when time.Time) bool { t.Reset(time.Until(when)); return true },
		close:   func() { go w.Close() }, // sometimes never returns: it waits for a tick of a stopped ticker
	}), nil
}
