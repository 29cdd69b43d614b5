package clock_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/clock"
	"github.com/foliot-go/foliot/internal/testkit"
)

func wantWaiters(t testing.TB, when string, fake *clock.Fake, n int) {
	t.Helper()
	if got := fake.Waiters(); got != n {
		t.Errorf("%s: %d wait on the clock, want %d", when, got, n)
	}
}

func TestEachThatWaitsOnAFakeCountsOne(t *testing.T) {
	fake := clock.NewFake()
	wantWaiters(t, "at first", fake, 0)
	fake.After(time.Second)
	timer := fake.NewTimer(time.Second)
	ticker := fake.NewTicker(time.Second)
	fake.Tick(time.Second)
	f := fake.AfterFunc(time.Second, func() {})
	go fake.Sleep(time.Second)
	fake.BlockUntil(6)
	first, cancelFirst := fake.WithTimeout(t.Context(), time.Second)
	second, cancelSecond := fake.WithDeadline(first, fake.Now().Add(time.Hour)) // after that of its parent
	defer cancelSecond()
	wantWaiters(t, "all together", fake, 8)
	timer.Stop()
	ticker.Stop()
	f.Stop()
	wantWaiters(t, "after Stop", fake, 5)
	timer.Reset(time.Minute)
	ticker.Reset(time.Second)
	f.Reset(time.Second)
	timer.Reset(time.Second)
	wantWaiters(t, "after Reset", fake, 8)
	cancelFirst()
	if second.Err() == nil {
		t.Error("a context has not ended with its parent")
	}
	wantWaiters(t, "after cancel", fake, 6)
	fake.Advance(time.Second)
	wantWaiters(t, "after the deadlines", fake, 2) // a ticker and Tick
	ticker.Stop()
	wantWaiters(t, "after Stop of the ticker", fake, 1)
}

// Waiters must not depend on the garbage collector.
func TestTimersThatAreForgottenCount(t *testing.T) {
	fake := clock.NewFake()
	for range 100 {
		fake.After(time.Second)
		fake.NewTicker(time.Minute)
	}
	for range 3 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	wantWaiters(t, "after garbage collections", fake, 200)
	fake.Advance(time.Second)
	wantWaiters(t, "after the timers", fake, 100)
}

func TestAContextThatEndsWithItsParentDoesNotCount(t *testing.T) {
	fake := clock.NewFake()
	parent, cancelParent := context.WithCancel(context.Background())
	ctx, cancel := fake.WithTimeout(parent, time.Second)
	defer cancel()
	wantWaiters(t, "before", fake, 1)
	cancelParent()
	testkit.Eventually(t, "the context does not count", func() bool { return fake.Waiters() == 0 })
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("Err is %v, want Canceled", ctx.Err())
	}
}

// A parent may have a deadline on the system clock, which is earlier as a time than one on a Fake.
func TestAContextBelowADeadlineOfAnotherClockEndsOnTheFake(t *testing.T) {
	fake := clock.NewFake(time.Now().Add(1000 * time.Hour))
	parent, cancelParent := context.WithTimeout(context.Background(), time.Hour)
	defer cancelParent()
	ctx, cancel := fake.WithTimeout(parent, time.Second)
	defer cancel()
	want, _ := parent.Deadline()
	if at, ok := ctx.Deadline(); !ok || !at.Equal(want) {
		t.Errorf("Deadline is %v, want the earlier one %v", at, want)
	}
	fake.BlockUntil(1)
	fake.Advance(time.Second)
	if ctx.Err() != context.DeadlineExceeded {
		t.Errorf("Err is %v, want DeadlineExceeded", ctx.Err())
	}
}

func TestBlockUntilReturnsWhenEnoughWait(t *testing.T) {
	test := func(t *testing.T) {
		fake := clock.NewFake()
		fake.BlockUntil(0)
		returned := make(chan int, 3)
		for _, n := range []int{3, 1, 2} {
			go func() {
				fake.BlockUntil(n)
				returned <- n
			}()
		}
		timer := fake.NewTimer(time.Second)
		if n := testkit.Receive(t, returned, "BlockUntil(1)"); n != 1 {
			t.Errorf("BlockUntil(%d) returns first", n)
		}
		timer.Reset(time.Minute) // it is armed already
		go fake.Sleep(time.Second)
		if n := testkit.Receive(t, returned, "BlockUntil(2)"); n != 2 {
			t.Errorf("BlockUntil(%d) returns second", n)
		}
		_, cancel := fake.WithTimeout(context.Background(), time.Second)
		defer cancel()
		testkit.Receive(t, returned, "BlockUntil(3)")
		fake.BlockUntil(3)
		fake.Advance(time.Minute)
	}
	t.Run("outside of a bubble", test)
	t.Run("in a bubble", func(t *testing.T) { synctest.Test(t, test) })
}

func TestBlockUntilReturnsByWhatAFunctionArms(t *testing.T) {
	fake := clock.NewFake()
	fake.AfterFunc(time.Second, func() {
		fake.After(time.Hour)
		fake.After(time.Hour)
	})
	blocked := testkit.Async(func() bool { fake.BlockUntil(2); return true })
	fake.Advance(time.Second)
	testkit.Receive(t, blocked, "BlockUntil(2)")
}

func TestBlockUntilContextReturnsTheErrorOfItsContext(t *testing.T) {
	fake := clock.NewFake()
	fake.After(time.Second)
	ctx, cancel := context.WithCancel(context.Background())
	blocked := testkit.Async(func() error { return fake.BlockUntilContext(ctx, 2) })
	cancel()
	if err := testkit.Receive(t, blocked, "BlockUntilContext"); !errors.Is(err, context.Canceled) {
		t.Errorf("BlockUntilContext returns %v, want Canceled", err)
	}
	if err := fake.BlockUntilContext(ctx, 1); err != nil {
		t.Errorf("BlockUntilContext returns %v although enough wait", err)
	}
	fake.After(time.Second) // the goroutine has left no trace
	wantWaiters(t, "at the end", fake, 2)
}

// A goroutine sleeps in a loop, and the test wakes it once for each step.
func TestBlockUntilAndAdvanceGoThroughALoopOfSleeps(t *testing.T) {
	test := func(t *testing.T) {
		fake := clock.NewFake()
		const steps = 100
		count := 0 // not protected: BlockUntil orders the accesses
		var wg sync.WaitGroup
		wg.Go(func() {
			for range steps {
				fake.Sleep(time.Second)
				count++
			}
		})
		for step := range steps {
			fake.BlockUntil(1)
			if count != step {
				t.Errorf("the goroutine has counted to %d, want %d", count, step)
			}
			fake.Advance(time.Second)
		}
		wg.Wait()
	}
	t.Run("outside of a bubble", test)
	t.Run("in a bubble", func(t *testing.T) { synctest.Test(t, test) })
}

// The goroutines do not wait for each other. So the clock may move past a deadline between the moment
// when a goroutine reads the time and the moment when its timer is armed.
func TestWhatIsArmedWhileTheClockMovesFires(t *testing.T) {
	const rounds = 5000
	fake := clock.NewFake()
	timer := fake.NewTimer(time.Hour)
	timer.Stop()
	waits := []func(){
		func() { fake.Sleep(time.Millisecond) },
		func() { timer.Reset(time.Millisecond); <-timer.Chan() },
		func() {
			ran := make(chan struct{})
			fake.AfterFunc(time.Millisecond, func() { close(ran) })
			<-ran
		},
		func() {
			ctx, cancel := fake.WithTimeout(t.Context(), time.Millisecond)
			<-ctx.Done()
			cancel()
		},
	}
	var left atomic.Int64
	left.Store(int64(len(waits)))
	var ended atomic.Bool
	var wg sync.WaitGroup
	for _, wait := range waits {
		wg.Go(func() {
			for !ended.Load() {
				wait()
			}
			left.Add(-1)
		})
	}
	for n := range rounds {
		for range 1 + n%5 {
			fake.Advance(time.Second)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := fake.BlockUntilContext(ctx, len(waits)); err != nil {
			t.Errorf("%d of %d goroutines wait on the clock, and the others are not woken: %v", fake.Waiters(), len(waits), err)
		}
		cancel()
		if t.Failed() {
			break
		}
	}
	ended.Store(true)
	for left.Load() > 0 {
		fake.Advance(time.Second)
		runtime.Gosched()
	}
	wg.Wait()
}

// The clock may move between the moment when a goroutine reads the time and the moment when the timer of
// its context is armed. A context that waits afterwards has a deadline that has not passed.
func TestADeadlineDoesNotMoveWithTheClock(t *testing.T) {
	const rounds = 5000
	fake := clock.NewFake()
	var last atomic.Pointer[context.Context]
	var ended, left atomic.Bool
	go func() {
		defer left.Store(true)
		for !ended.Load() {
			ctx, cancel := fake.WithTimeout(t.Context(), time.Millisecond)
			last.Store(&ctx)
			<-ctx.Done()
			cancel()
		}
	}()
	for n := range rounds {
		for range 1 + n%5 {
			fake.Advance(time.Second)
		}
		fake.BlockUntil(1)
		p := last.Load()
		if p == nil {
			continue // the first context was made, and is not stored yet
		}
		if at, _ := (*p).Deadline(); (*p).Err() == nil && !at.After(fake.Now()) {
			t.Errorf("round %d: a context waits %v after its deadline", n, fake.Since(at))
			break
		}
	}
	ended.Store(true)
	for !left.Load() {
		fake.Advance(time.Second)
		runtime.Gosched()
	}
}
