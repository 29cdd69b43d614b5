package contract_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestOptionsGoIsCalledOncePerCallback(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		var calls, ran atomic.Int64
		r := kit.NewRuntime(t, foliot.Options{Workers: workers, Go: func(f func()) {
			calls.Add(1)
			go f()
		}})
		const n = 2000
		for i := range n {
			timer := kit.After(t, r, time.Duration(i%5)*millisecond, func() { ran.Add(1) })
			if i%4 == 0 {
				timer.Reset(0)
			}
		}
		for range 100 {
			kit.After(t, r, hour, kit.Never(t, "a stopped timer")).Stop()
		}
		testkit.Eventually(t, "a run of each timer", func() bool { return ran.Load() == n })
		kit.Shutdown(t, r)
		if calls.Load() != n || ran.Load() != n {
			t.Errorf("%d calls of Go, %d runs, want %d", calls.Load(), ran.Load(), n)
		}
	})
}

func TestOptionsGoMayRunTheCallbackItself(t *testing.T) {
	var inGo atomic.Int32 // calls of Go that have not returned
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: func(f func()) {
		inGo.Add(1)
		defer inGo.Add(-1)
		f()
	}})
	ran := make(chan int32, 1)
	for range 100 {
		kit.After(t, r, 0, func() { ran <- inGo.Load() })
		if testkit.Receive(t, ran, "a callback") < 1 {
			t.Fatal("a callback ran outside of Options.Go")
		}
	}
}

// The callback starts long after Go was called for it.
func TestCallbacksOfASlowPoolNeverOverlapWithThemselves(t *testing.T) {
	callbacks := make(chan func(), 10_000)
	end := make(chan struct{})
	defer close(end)
	for range 4 {
		go func() {
			for {
				select {
				case f := <-callbacks:
					time.Sleep(kit.Random(200 * microsecond))
					f()
				case <-end:
					return
				}
			}
		}()
	}
	r := kit.NewRuntime(t, foliot.Options{Workers: 2, Go: func(f func()) { callbacks <- f }})
	var running, overlaps atomic.Int32
	var ran, armed, stopped int64
	timer := kit.NewTimer(t, r, func() {
		if running.Add(1) != 1 {
			overlaps.Add(1)
		}
		ran++ // without a lock: a run happens before the next one
		time.Sleep(kit.Random(100 * microsecond))
		running.Add(-1)
	})
	for i := range 800 {
		if timer.Reset(kit.Random(50 * microsecond)) {
			armed++
		}
		if i%3 == 0 && timer.Stop() {
			stopped++
		}
		time.Sleep(kit.Random(150 * microsecond))
	}
	testkit.Eventually(t, "nothing armed", func() bool { return r.Stats().Armed == 0 })
	if got := kit.Shutdown(t, r); got != 0 {
		t.Errorf("Shutdown returns %d, want 0", got)
	}
	if overlaps.Load() != 0 {
		t.Errorf("%d runs overlapped, want none", overlaps.Load())
	}
	if rearmed := int64(r.Stats().Rearmed); ran+stopped+rearmed != armed {
		t.Errorf("%d ran + %d stopped + Rearmed %d, want %d armings", ran, stopped, rearmed, armed)
	}
}

func TestShutdownCountsOrWaitsForACallbackOfOptionsGo(t *testing.T) {
	var ended atomic.Int32
	called := make(chan struct{}, 10)
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: func(f func()) {
		called <- struct{}{}
		go func() {
			time.Sleep(40 * millisecond) // Shutdown is called before the callback starts
			f()
			ended.Add(1)
		}()
	}})
	var ran int // without a lock: Shutdown happens after the callback
	timer := kit.NewTimer(t, r, func() { ran++ })
	timer.Reset(0)
	testkit.Receive(t, called, "Go")
	armed := kit.Shutdown(t, r)
	if armed+ran != 1 {
		t.Errorf("%d armed + %d ran, want 1", armed, ran)
	}
}

func TestNoCallWaitsForAnOptionsGoThatBlocks(t *testing.T) {
	release := make(chan struct{})
	var calls atomic.Int32
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: func(f func()) {
		calls.Add(1)
		<-release
		f()
	}})
	var ran atomic.Int32
	for range 10 {
		kit.After(t, r, 0, func() { ran.Add(1) })
	}
	testkit.Eventually(t, "a call of Go", func() bool { return calls.Load() > 0 })
	testkit.Returns(t, "AfterFunc and Stop", func() {
		for range 100 {
			if !kit.After(t, r, hour, kit.Never(t, "a stopped timer")).Stop() {
				t.Error("Stop returns false, want true")
			}
		}
	})
	close(release)
	testkit.Eventually(t, "a run of each timer", func() bool { return ran.Load() == 10 })
}
