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
		testkit.Eventually(t, "all have run", func() bool { return ran.Load() == n })
		kit.Shutdown(t, r)
		if calls.Load() != n || ran.Load() != n {
			t.Errorf("%d calls of Go, %d runs, want %d", calls.Load(), ran.Load(), n)
		}
	})
}

func TestOptionsGoMayRunTheCallbackInPlace(t *testing.T) {
	var inside atomic.Int32
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: func(f func()) {
		inside.Add(1)
		defer inside.Add(-1)
		f()
	}})
	ran := make(chan int32, 1)
	for range 100 {
		kit.After(t, r, 0, func() { ran <- inside.Load() })
		if testkit.Receive(t, ran, "a callback") < 1 {
			t.Fatal("a callback ran outside Options.Go")
		}
	}
}

// A pool that is far behind: f starts long after Go was called for it.
func TestCallbacksOfASlowPoolNeverOverlapWithThemselves(t *testing.T) {
	jobs := make(chan func(), 10_000)
	end := make(chan struct{})
	defer close(end)
	for range 4 {
		go func() {
			for {
				select {
				case f := <-jobs:
					time.Sleep(kit.Random(200 * microsecond))
					f()
				case <-end:
					return
				}
			}
		}()
	}
	r := kit.NewRuntime(t, foliot.Options{Workers: 2, Go: func(f func()) { jobs <- f }})
	var inside, overlaps atomic.Int32
	var ran, armed, stopped int64
	timer := kit.NewTimer(t, r, func() {
		if inside.Add(1) != 1 {
			overlaps.Add(1)
		}
		ran++ // without a lock: runs of one timer follow each other
		time.Sleep(kit.Random(100 * microsecond))
		inside.Add(-1)
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
		t.Errorf("%d armed", got)
	}
	if overlaps.Load() != 0 {
		t.Errorf("%d runs overlapped", overlaps.Load())
	}
	if rearmed := int64(r.Stats().Rearmed); ran+stopped+rearmed != armed {
		t.Errorf("%d armed, but %d ran, %d stopped, %d re-armed", armed, ran, stopped, rearmed)
	}
}

func TestShutdownWaitsForWhatOptionsGoWasGiven(t *testing.T) {
	var ended atomic.Int32
	called := make(chan struct{}, 10)
	r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: func(f func()) {
		called <- struct{}{}
		go func() {
			time.Sleep(40 * millisecond) // the callback has not even started when Shutdown is called
			f()
			ended.Add(1)
		}()
	}})
	var ran int // written by one callback after the other, read after Shutdown
	timer := kit.NewTimer(t, r, func() { ran++ })
	timer.Reset(0)
	testkit.Receive(t, called, "Go")
	armed := kit.Shutdown(t, r)
	if armed+ran != 1 {
		t.Errorf("%d armed, %d ran, want one in all", armed, ran)
	}
}

// Go blocks: the pool is full. Other shards go on, and so does every call.
func TestAnOptionsGoThatBlocksHoldsUpNoCall(t *testing.T) {
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
	testkit.Eventually(t, "Go was called", func() bool { return calls.Load() > 0 })
	testkit.Returns(t, "AfterFunc and Stop", func() {
		for range 100 {
			if !kit.After(t, r, hour, kit.Never(t, "a stopped timer")).Stop() {
				t.Error("Stop is false")
			}
		}
	})
	close(release)
	testkit.Eventually(t, "all have run", func() bool { return ran.Load() == 10 })
}
