package stress_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A contextCount counts the contexts of a runtime by how they have ended.
type contextCount struct {
	cancelled, late, left atomic.Int64
}

// makeContexts makes contexts until the runtime is closed. It cancels some of them, and waits for
// others. All must have ended when Shutdown has returned, so nothing else ends those that are left.
func (n *contextCount) makeContexts(t *testing.T, r *foliot.Runtime, closed <-chan struct{}) {
	type made struct {
		ctx       context.Context
		cancelled bool
	}
	var all []made
	for open := true; open; {
		ctx, cancel := r.WithTimeout(context.Background(), 1+kit.Random(3*millisecond))
		if rand.IntN(2) == 0 {
			ctx.Done()
		}
		m := made{ctx: ctx}
		switch rand.IntN(4) {
		case 0:
			m.cancelled = true
			cancel()
		case 1:
			child, cancelChild := r.WithTimeout(ctx, hour) // the deadline of ctx is sooner: there is no timer
			child.Done()
			defer cancelChild()
		}
		all = append(all, m)
		testkit.RandomPause()
		open = !errors.Is(context.Cause(ctx), foliot.ErrClosed)
	}
	<-closed
	for _, m := range all {
		switch err, cause := m.ctx.Err(), context.Cause(m.ctx); {
		case err == context.DeadlineExceeded && cause == err:
			n.late.Add(1)
		case err == context.Canceled && cause == err && m.cancelled:
			n.cancelled.Add(1)
		case err == context.Canceled && errors.Is(cause, foliot.ErrClosed):
			n.left.Add(1)
		default:
			t.Errorf("after Shutdown, Err is %v and Cause is %v, the program has cancelled it: %t", err, cause, m.cancelled)
		}
	}
}

// Each context ends for one reason: its deadline, if its timer has fired; the CancelFunc, if that has
// stopped the timer; Shutdown, if the timer was armed then, or if the context was made afterwards.
func TestEachContextEndsForOneReasonAtShutdown(t *testing.T) {
	testkit.EachProcs(t, func(t *testing.T) {
		end := time.Now().Add(testkit.StressTime(t, 400*millisecond))
		// On a busy machine it may take longer until there are some of each.
		limit := end.Add(testkit.Timeout)
		var sum contextCount
		someOfEach := func() bool {
			return sum.late.Load() > 0 && sum.left.Load() > 0 && sum.cancelled.Load() > 0
		}
		for (time.Now().Before(end) || !someOfEach() && time.Now().Before(limit)) && !t.Failed() {
			r := kit.NewRuntime(t, foliot.Options{Workers: 1 + rand.IntN(4)})
			var n contextCount
			closed := make(chan struct{})
			const makers = 4
			var wg sync.WaitGroup
			for range makers {
				wg.Go(func() { n.makeContexts(t, r, closed) })
			}
			time.Sleep(kit.Random(8 * millisecond))
			armed := int64(kit.Shutdown(t, r))
			close(closed)
			wg.Wait()
			st := r.Stats()
			// The last context of each goroutine was refused, or was armed when Shutdown came.
			left := n.left.Load()
			if fired, stopped := int64(st.Fired), int64(st.Stopped); n.late.Load() != fired || n.cancelled.Load() != stopped ||
				left < armed || left > armed+makers {
				t.Errorf("%d late, %d cancelled and %d left contexts, want %d fired, %d stopped and %d to %d left",
					n.late.Load(), n.cancelled.Load(), left, fired, stopped, armed, armed+makers)
			}
			sum.late.Add(n.late.Load())
			sum.left.Add(left)
			sum.cancelled.Add(n.cancelled.Load())
		}
		if !someOfEach() {
			t.Errorf("%d late, %d left and %d cancelled contexts, want some of each",
				sum.late.Load(), sum.left.Load(), sum.cancelled.Load())
		}
	})
}
