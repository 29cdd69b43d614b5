package clock_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/foliot-go/foliot/clock"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// useFake arms something of each kind, some of which fires.
func useFake(fake *clock.Fake) {
	for range 40 {
		fake.After(time.Hour)
		fake.NewTicker(time.Minute)
		fake.AfterFunc(time.Hour, func() {})
		fake.AfterFunc(time.Second, func() {})
		_, cancel := fake.WithTimeout(context.Background(), time.Hour)
		_ = cancel // it is not called: the Fake is dropped as a whole
	}
	fake.AfterFunc(0, func() {})
	fake.Advance(90 * time.Second)
}

func TestAFakeThatIsDroppedLeavesNoGoroutine(t *testing.T) {
	kit.WantNoGoroutines(t, "before")
	before := runtime.NumGoroutine()
	for range 50 {
		useFake(clock.NewFake())
	}
	kit.WantNoGoroutines(t, "after the Fakes were used")
	testkit.Eventually(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= before })
}

func TestAFakeThatIsDroppedIsCollected(t *testing.T) {
	var fakes []weak.Pointer[clock.Fake]
	for range 20 {
		fake := clock.NewFake()
		useFake(fake)
		fakes = append(fakes, weak.Make(fake))
	}
	if n := testkit.Uncollected(testkit.Timeout, fakes); n > 0 {
		t.Errorf("%d of %d Fakes are not collected", n, len(fakes))
	}
}

// A bubble ends only when all of its goroutines have ended.
func TestAFakeInABubbleLeavesNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { useFake(clock.NewFake()) })
}

func TestAFunctionKeepsNothingAliveOnceItHasRun(t *testing.T) {
	fake := clock.NewFake()
	var values []weak.Pointer[[1000]byte]
	var timers []clock.Timer
	for range 100 {
		v := new([1000]byte)
		values = append(values, weak.Make(v))
		fake.AfterFunc(time.Second, func() { v[0]++ })
	}
	timers = append(timers, fake.NewTimer(time.Hour))
	fake.Advance(time.Second)
	if n := testkit.Uncollected(testkit.Timeout, values); n > 0 {
		t.Errorf("%d of %d values are not collected", n, len(values))
	}
	runtime.KeepAlive(timers)
	runtime.KeepAlive(fake)
}
