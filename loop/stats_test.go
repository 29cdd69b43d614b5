package loop_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
)

func TestStatsOfALoopThatWaits(t *testing.T) {
	l := loop.New(loop.Options{})
	if st := l.Stats(); st != (loop.Stats{}) {
		t.Errorf("Stats of a new loop returns %+v, want zeros", st)
	}
	release := l.Hold()
	l.CallLater(time.Hour, func() {})
	l.CallLater(2*time.Hour, func() {})
	result := testkit.Async(func() error { return l.Run(t.Context()) })
	testkit.Eventually(t, "the loop waits with two timers", func() bool {
		st := l.Stats()
		return st.Running && st.Timers == 2 && st.Next > 59*time.Minute && st.Next <= time.Hour && st.Held == 1
	})
	if err := l.Post(func() { l.CallLater(time.Minute, func() {}) }); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the loop waits with three timers", func() bool {
		st := l.Stats()
		return st.Timers == 3 && st.Next <= time.Minute && st.Posted == 0
	})
	release()
	l.Stop()
	if err := testkit.Receive(t, result, "Run"); err != nil {
		t.Fatal(err)
	}
	if st := l.Stats(); st.Running || st.Closed || st.Timers != 3 || st.Held != 0 {
		t.Errorf("after Run Stats returns %+v, want three timers", st)
	}
	for range 5 {
		if err := l.Post(func() {}); err != nil {
			t.Fatal(err)
		}
	}
	if st := l.Stats(); st.Posted != 5 {
		t.Errorf("Stats has %d posts, want 5", st.Posted)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if st := l.Stats(); st != (loop.Stats{Closed: true}) {
		t.Errorf("Stats of a closed loop returns %+v, want only Closed", st)
	}
}

func TestStatsOfALoopThatNeverWaits(t *testing.T) {
	l := loop.New(loop.Options{})
	timers := 0
	var again func()
	again = func() {
		if timers < 1000 {
			timers++
			l.CallLater(time.Hour, func() {})
		}
		l.CallSoon(again)
	}
	l.CallSoon(again)
	result := testkit.Async(func() error { return l.Run(t.Context()) })
	testkit.Eventually(t, "Stats has all timers", func() bool { return l.Stats().Timers == 1000 })
	l.Stop()
	if err := testkit.Receive(t, result, "Run"); err != nil {
		t.Fatal(err)
	}
}

func TestStatsOfALoopOnAVirtualClock(t *testing.T) {
	l := loop.New(loop.Options{Clock: loop.Virtual(0)})
	l.CallAt(time.Second, func() {})
	l.CallAt(time.Minute, func() {})
	l.Step()
	if st := l.Stats(); st.Timers != 1 || st.Next != 59*time.Second {
		t.Errorf("after a step Stats returns %+v, want one timer in 59 s", st)
	}
	l.CallAt(2*time.Second, func() {})
	l.Step()
	if st := l.Stats(); st.Timers != 1 || st.Next != 58*time.Second {
		t.Errorf("after another step Stats returns %+v, want one timer in 58 s", st)
	}
}

func TestStatsMayBeCalledFromManyGoroutines(t *testing.T) {
	l := loop.New(loop.Options{})
	var stop atomic.Bool
	var again func()
	again = func() {
		l.CallLater(10*time.Microsecond, again)
		l.CallLater(time.Millisecond, func() {}).Cancel()
	}
	l.CallSoon(again)
	result := testkit.Async(func() error { return l.Run(t.Context()) })
	var lookers sync.WaitGroup
	for range 4 {
		lookers.Go(func() {
			for !stop.Load() {
				if st := l.Stats(); st.Timers > 3 {
					t.Errorf("Stats has %d timers, want at most 3", st.Timers)
				}
			}
		})
	}
	time.Sleep(testkit.StressTime(t, 50*time.Millisecond))
	stop.Store(true)
	lookers.Wait()
	l.Stop()
	if err := testkit.Receive(t, result, "Run"); err != nil {
		t.Fatal(err)
	}
}
