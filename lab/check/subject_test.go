package check

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot-go/foliot"
)

// A handle has the methods of a timer that the tests call.
type handle interface {
	Reset(d time.Duration) bool
	Stop() bool
	Free() bool
	Deadline() (time.Time, bool)
}

// A subject makes timers. It is a runtime under test, or a reference with a known defect.
type subject interface {
	newTimer(f func()) (handle, error)
	afterFunc(d time.Duration, f func()) (handle, error)
	// disturb does something that must not affect any timer.
	disturb(n int) error
	// close returns how many timers were armed. No callback runs after it.
	close(ctx context.Context) (armed int, err error)
	// fired returns how many callbacks have run. It is called after close.
	fired() uint64
	// resolution returns by how much a deadline may be rounded up.
	resolution() time.Duration
}

// A runtimeSubject is a Runtime with the Options.Resolution tick.
type runtimeSubject struct {
	r    *foliot.Runtime
	tick time.Duration
}

func (s runtimeSubject) newTimer(f func()) (handle, error) { return s.r.NewTimer(f) }

// afterFunc calls AfterFuncBatch if the delay is odd, and AfterFunc otherwise.
func (s runtimeSubject) afterFunc(d time.Duration, f func()) (handle, error) {
	if d%2 == 0 {
		return s.r.AfterFunc(d, f)
	}
	ts, err := s.r.AfterFuncBatch(nil, []foliot.Call{{After: d, Func: f}})
	if err != nil {
		return nil, err
	}
	if len(ts) != 1 {
		return nil, fmt.Errorf("AfterFuncBatch of one call returns %d timers", len(ts))
	}
	return ts[0], nil
}

func (s runtimeSubject) disturb(n int) error { return s.r.Resize(1 + n%4) }

func (s runtimeSubject) close(ctx context.Context) (int, error) { return s.r.Shutdown(ctx) }
func (s runtimeSubject) fired() uint64                          { return s.r.Stats().Fired }
func (s runtimeSubject) resolution() time.Duration              { return s.tick }
