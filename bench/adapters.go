package bench

import (
	"context"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/bench/internal/heap"
	dropin "github.com/foliot-go/foliot/time"
)

func stdTimers() (timers, error) {
	return newTimerSet(timerFuncs[*time.Timer]{
		afterFunc: func(d time.Duration, f func()) (*time.Timer, error) { return time.AfterFunc(d, f), nil },
		stop:      (*time.Timer).Stop,
		reset:     (*time.Timer).Reset,
		resetAt:   func(t *time.Timer, when time.Time) bool { return t.Reset(time.Until(when)) },
	}), nil
}

func foliotTimers() (timers, error)    { return runtimeTimers(foliot.Options{}) }
func preciseTimers() (timers, error)   { return runtimeTimers(foliot.Options{Precise: true}) }
func oneWorkerTimers() (timers, error) { return runtimeTimers(foliot.Options{Workers: 1}) }

func runtimeTimers(o foliot.Options) (timers, error) {
	rt, err := foliot.New(o)
	if err != nil {
		return nil, err
	}
	return newTimerSet(timerFuncs[foliot.Timer]{
		afterFunc: rt.AfterFunc,
		stop:      foliot.Timer.Stop,
		reset:     foliot.Timer.Reset,
		resetAt:   foliot.Timer.ResetAt,
		batch:     rt.AfterFuncBatch,
		close:     func() { shutdown(rt) },
	}), nil
}

// shutdown ends a runtime. All callbacks in this package are short, so it does not wait for long.
func shutdown(rt *foliot.Runtime) {
	if _, err := rt.Shutdown(context.Background()); err != nil {
		panic(err) // the context does not end
	}
}

func dropInTimers() (timers, error) {
	return newTimerSet(timerFuncs[*dropin.Timer]{
		afterFunc: func(d time.Duration, f func()) (*dropin.Timer, error) { return dropin.AfterFunc(d, f), nil },
		stop:      (*dropin.Timer).Stop,
		reset:     (*dropin.Timer).Reset,
		resetAt:   func(t *dropin.Timer, when time.Time) bool { return t.Reset(time.Until(when)) },
	}), nil
}

func heapTimers() (timers, error) {
	h := heap.New()
	return newTimerSet(timerFuncs[*heap.Timer]{
		afterFunc: func(d time.Duration, f func()) (*heap.Timer, error) { return h.AfterFunc(d, f), nil },
		stop:      h.Stop,
		reset:     h.Reset,
		resetAt:   func(t *heap.Timer, when time.Time) bool { return h.Reset(t, time.Until(when)) },
		close:     h.Close,
	}), nil
}
