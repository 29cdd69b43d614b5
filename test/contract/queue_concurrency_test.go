package contract_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	"github.com/foliot-go/foliot/wheel"
)

// A queueEntry is a value without pointers.
type queueEntry struct {
	id  int32
	due int64 // its deadline, in nanoseconds since the start of the test
}

// Several goroutines push, remove, reset and fetch values. Each value is either removed or fetched,
// once and never early.
func TestEachValueLeavesAQueueExactlyOnce(t *testing.T) {
	for _, o := range []foliot.Options{{}, {Workers: 1}, {Resolution: millisecond}} {
		r := kit.NewRuntime(t, o)
		const producers, each = 4, 2500
		const n = producers * each
		q := foliot.NewQueue[queueEntry](r)
		start := time.Now()
		left := make([]atomic.Int32, n)
		var removed, fetched atomic.Int64
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var producing, consuming sync.WaitGroup
		for p := range producers {
			producing.Go(func() {
				var handles []wheel.Handle
				for i := range each {
					id := int32(p*each + i)
					d := kit.Random(10 * millisecond)
					handles = append(handles, push(t, q, d, queueEntry{id, int64(time.Since(start) + d)}))
					k := kit.Random(len(handles))
					switch kit.Random(6) {
					case 0:
						if v, ok := q.Remove(handles[k]); ok {
							left[v.id].Add(1)
							removed.Add(1)
							if int(v.id) != p*each+k {
								t.Errorf("Remove of value %d returns value %d", p*each+k, v.id)
							}
						}
					case 1:
						// The new deadline is later, so the value must still not be fetched before
						// due.
						q.Reset(handles[k], 10*millisecond+kit.Random(millisecond))
					}
					if i%100 == 0 {
						time.Sleep(kit.Random(200 * microsecond))
					}
				}
			})
		}
		for c := range 3 {
			consuming.Go(func() {
				buf := make([]queueEntry, 1+c*20)
				for {
					wait, end := ctx, context.CancelFunc(func() {})
					if c == 0 { // its Wait often ends without a value
						wait, end = context.WithTimeout(ctx, kit.Random(300*microsecond))
					}
					got, err := q.Wait(wait, buf)
					end()
					for _, v := range buf[:got] {
						left[v.id].Add(1)
						fetched.Add(1)
						if early := v.due - int64(time.Since(start)); early > 0 {
							t.Errorf("a value was fetched %v early", time.Duration(early))
						}
					}
					if ctx.Err() != nil {
						return
					} else if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
						return
					}
				}
			})
		}
		testkit.Returns(t, "the producers", producing.Wait)
		testkit.Eventually(t, "all values removed or fetched", func() bool { return removed.Load()+fetched.Load() >= n })
		cancel()
		testkit.Returns(t, "the consumers", consuming.Wait)
		for id := range left {
			if got := left[id].Load(); got != 1 {
				t.Fatalf("value %d was removed or fetched %d times, want once", id, got)
			}
		}
		if q.Len() != 0 {
			t.Errorf("Len is %d, want 0", q.Len())
		}
	}
}

// All values are pushed before the first is fetched, so a single consumer gets them in the order of
// their deadlines.
func TestAConsumerSeesDeadlinesInOrder(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	q := foliot.NewQueue[time.Duration](r)
	const n = 2000
	start := time.Now()
	for range n {
		at := kit.Random(20 * millisecond)
		pushAt(t, q, start.Add(at), at)
	}
	last := time.Duration(0)
	for left := n; left > 0; {
		got := fetch(t, q, 64)
		for _, at := range got {
			if at < last {
				t.Fatalf("a value due at %v came after one due at %v", at, last)
			}
			last = at
		}
		left -= len(got)
	}
}

func TestShutdownEndsProducersAndConsumers(t *testing.T) {
	for range 30 {
		r := kit.NewRuntime(t, foliot.Options{})
		q := foliot.NewQueue[int](r)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for {
					h, err := q.Push(kit.Random(100*microsecond), 1)
					if errors.Is(err, foliot.ErrClosed) {
						return
					} else if err != nil {
						t.Error(err)
						return
					}
					if kit.Random(3) == 0 {
						q.Reset(h, kit.Random(100*microsecond))
					}
					runtime.Gosched()
				}
			})
			wg.Go(func() {
				buf := make([]int, 10)
				for {
					if _, err := q.Wait(context.Background(), buf); errors.Is(err, foliot.ErrClosed) {
						return
					} else if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		time.Sleep(kit.Random(millisecond))
		kit.Shutdown(t, r)
		testkit.Returns(t, "the producers and consumers", wg.Wait)
	}
}

func TestAQueueOfValuesWithoutPointersIsNotScanned(t *testing.T) {
	testkit.SkipUnderRace(t, "it allocates too")
	r, _ := kit.NewManual(t, foliot.Options{})
	scannable := func() (bytes uint64) {
		runtime.GC()
		samples := []metrics.Sample{{Name: "/gc/scan/heap:bytes"}}
		metrics.Read(samples)
		return samples[0].Value.Uint64()
	}
	q := foliot.NewQueue[uint64](r)
	before := scannable()
	const n = 100_000
	for i := range n {
		push(t, q, time.Duration(i)*millisecond, uint64(i))
	}
	if after := scannable(); after > before+n {
		t.Errorf("%d values add %d bytes to scan, want at most %d", n, after-before, n)
	}
	if q.Len() != n {
		t.Errorf("Len is %d, want %d", q.Len(), n)
	}
}
