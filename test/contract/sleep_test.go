package contract_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestSleepEndsWithItsContext(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	for _, d := range []time.Duration{second * 3600, 1<<63 - 1} {
		ctx, cancel := context.WithCancel(context.Background())
		result := make(chan error, 1)
		go func() { result <- r.Sleep(ctx, d) }()
		select {
		case err := <-result:
			t.Fatalf("Sleep(%v) returned %v", d, err)
		case <-time.After(5 * millisecond):
		}
		cancel()
		if err := testkit.Receive(t, result, "Sleep"); !errors.Is(err, context.Canceled) {
			t.Errorf("Sleep returns %v, want %v", err, context.Canceled)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*millisecond)
	defer cancel()
	testkit.Returns(t, "Sleep", func() {
		if err := r.Sleep(ctx, hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Sleep returns %v, want %v", err, context.DeadlineExceeded)
		}
		if err := r.Sleep(ctx, hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Sleep with an ended context returns %v, want %v",
				err, context.DeadlineExceeded)
		}
	})
}

func TestManySleepsReturnAndFreeTheirSlots(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var wg sync.WaitGroup
	for i := range 500 {
		wg.Go(func() {
			d := kit.Random(20 * millisecond)
			if i%5 == 0 {
				d = hour
			}
			before := time.Now()
			err := r.Sleep(ctx, d)
			if d == hour {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("Sleep returns %v, want Canceled", err)
				}
				return
			}
			slept := time.Since(before)
			if err != nil && !errors.Is(err, context.Canceled) || err == nil && slept < d {
				t.Errorf("Sleep(%v) returns %v after %v", d, err, slept)
			}
		})
	}
	time.Sleep(15 * millisecond)
	cancel()
	testkit.Returns(t, "all sleeps", wg.Wait)
	testkit.Eventually(t, "nothing armed and no slot in use", func() bool {
		s := r.Stats()
		return s.Armed == 0 && s.Timers == 0
	})
}

func TestSleepReturnsErrClosedAtShutdown(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"system": {}, "manual": {Clock: foliot.NewManualClock(kit.Epoch)},
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			const n = 50
			results := make(chan error, n)
			for range n {
				go func() { results <- r.Sleep(context.Background(), hour) }()
			}
			time.Sleep(5 * millisecond) // until some sleep; the others find a closed runtime
			kit.Shutdown(t, r)
			for range n {
				if err := testkit.Receive(t, results, "Sleep"); !errors.Is(err, foliot.ErrClosed) {
					t.Errorf("Sleep returns %v, want ErrClosed", err)
				}
			}
		})
	}
}

func TestSleepReturnsErrClosedWhileShutdownWaitsForACallback(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	startGate(t, r)
	result := make(chan error, 1)
	go func() { result <- r.Sleep(context.Background(), hour) }()
	time.Sleep(5 * millisecond)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Shutdown(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown returns %v, want Canceled", err)
	}
	if err := testkit.Receive(t, result, "Sleep"); !errors.Is(err, foliot.ErrClosed) {
		t.Errorf("Sleep returns %v, want ErrClosed", err)
	}
}

func TestSleepWorksInACallback(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	done := make(chan time.Duration, 1)
	kit.After(t, r, 0, func() {
		before := time.Now()
		if err := r.Sleep(context.Background(), 10*millisecond); err != nil {
			t.Error(err)
		}
		done <- time.Since(before)
	})
	if got := testkit.Receive(t, done, "a callback that sleeps"); got < 10*millisecond {
		t.Errorf("Sleep returns after %v, want 10ms or more", got)
	}
}

// There is one processor. A goroutine that sleeps again and again must let another goroutine run,
// however short the sleeps are.
func TestShortSleepsLetOtherGoroutinesRun(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	for _, d := range []time.Duration{1, 100, microsecond, 2 * microsecond} {
		sleep := func() {
			if err := r.Sleep(context.Background(), d); err != nil {
				t.Fatal(err)
			}
		}
		if !testkit.LetsOthersRun(sleep) {
			t.Errorf("Sleep(%v) does not let other goroutines run", d)
		}
	}
}
