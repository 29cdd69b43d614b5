package contract_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
)

// A worker that passes callbacks on to Options.Go for many milliseconds is not blocked: each of them is
// fast. If it counted as blocked, another goroutine would take over, callbacks would overlap although
// there is one worker, and the log would blame a callback.
func TestAWorkerThatIsBusyWithFastCallbacksDoesNotCountAsBlocked(t *testing.T) {
	const n = 20_000
	var blocked uint64
	var overlaps int64
	for range 5 { // other processes may have taken the processors
		var ran sync.WaitGroup
		ran.Add(n)
		r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: func(f func()) { f() }})
		var running, together atomic.Int64
		calls := make([]foliot.Call, n)
		for i := range calls {
			calls[i] = foliot.Call{After: 20 * millisecond, Func: func() {
				if running.Add(1) > 1 {
					together.Add(1)
				}
				burn(3 * microsecond)
				running.Add(-1)
				ran.Done()
			}}
		}
		if _, err := r.AfterFuncBatch(nil, calls); err != nil {
			t.Fatal(err)
		}
		ran.Wait()
		kit.Shutdown(t, r)
		blocked, overlaps = r.Stats().Blocked, together.Load()
		if blocked == 0 && overlaps == 0 {
			return
		}
	}
	t.Errorf("%d times a worker counted as blocked, and %d callbacks overlapped, in the last of five rounds; want none", blocked, overlaps)
}
