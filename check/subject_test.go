package check

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot-go/foliot"
)

// handle is what a test can do with a timer.
type handle interface {
	Reset(d time.Duration) bool
	Stop() bool
	Free() bool
	Deadline() (time.Time, bool)
}

// subject makes timers: the runtime under test, or a reference with a known defect.
type subject interface {
	newTimer(f func()) (handle, error)
	afterFunc(d time.Duration, f func()) (handle, error)
	// disturb does once what should make no difference to any timer.
	disturb(n int) error
	// close says how many timers were armed. No callback runs after it.
	close(ctx context.Context) (armed int, err error)
	// fired is how many callbacks have run; known after close.
	fired() uint64
	// resolution is by how much a deadline may be rounded up.
	resolution() time.Duration
}

// runtimeSubject is a Runtime made with Options.Resolution set to tick.
type runtimeSubject struct {
	r    *foliot.Runtime
	tick time.Duration
}

func (s runtimeSubject) newTimer(f func()) (handle, error) { return s.r.NewTimer(f) }

// afterFunc makes every other one-shot by a batch, chosen by the delay.
func (s runtimeSubject) afterFunc(d time.Duration, f func()) (handle, error) {
	if d%2 == 0 {
		return s.r.AfterFunc(d, f)
	}
	ts, err := s.r.AfterFuncBatch(nil, []foliot.Call{{After: d, Func: f}})
	if err != nil {
		return nil, err
	}
	if len(ts) != 1 {
		return nil, fmt.Errorf("a batch of one answered %d timers", len(ts))
	}
	return ts[0], nil
}

func (s runtimeSubject) disturb(n int) error { return s.r.Resize(1 + n%4) }

func (s runtimeSubject) close(ctx context.Context) (int, error) { return s.r.Shutdown(ctx) }
func (s runtimeSubject) fired() uint64                          { return s.r.Stats().Fired }
func (s runtimeSubject) resolution() time.Duration              { return s.tick }
