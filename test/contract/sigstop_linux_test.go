package contract_test

import (
	stdcontext "context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
	foliotcontext "github.com/foliot-go/foliot/context"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
	"github.com/foliot-go/foliot/test/kit"
	foliottime "github.com/foliot-go/foliot/time"
)

// stopTime is how long stopProcess stops the process.
const stopTime = 300 * millisecond

// stopProcess stops the test process by a signal, as a frozen container is stopped, and has it
// continue after stopTime. It may be called in a synctest bubble.
func stopProcess(t *testing.T) {
	t.Helper()
	pid := os.Getpid()
	stop := exec.Command("sh", "-c", fmt.Sprintf("kill -STOP %d; sleep %v; kill -CONT %d", pid, stopTime.Seconds(), pid))
	if err := stop.Run(); err != nil {
		t.Skipf("the process cannot be stopped: %v", err)
	}
}

// The process is stopped while timers come due. When it continues, they run at once, in the order
// of their deadlines.
func TestTimersThatCameDueWhileTheProcessWasStoppedRunInOrder(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	var mu sync.Mutex
	var ran []int
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Add(1)
		d := 50*millisecond + time.Duration(i*37%100)*millisecond
		deadline := time.Now().Add(d)
		kit.After(t, r, d, func() {
			defer wg.Done()
			if early := time.Until(deadline); early > 0 {
				t.Errorf("a timer ran %v early", early)
			}
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, i*37%100)
		})
	}
	stopProcess(t)
	testkit.Returns(t, "the timers after the stop", wg.Wait)
	if !slices.IsSorted(ran) {
		t.Errorf("the timers ran in the order %v, want sorted", ran)
	}
}

// Each entry arms something that is due after d and calls came at that time.
var overduePackages = map[string]func(t *testing.T, d time.Duration, came func()){
	"a sleep of the runtime": func(t *testing.T, d time.Duration, came func()) {
		r := kit.NewRuntime(t, foliot.Options{})
		go func() {
			if err := r.Sleep(stdcontext.Background(), d); err != nil {
				t.Errorf("Sleep returns %v", err)
			}
			came()
		}()
	},
	"a queue": func(t *testing.T, d time.Duration, came func()) {
		q := foliot.NewQueue[int](kit.NewRuntime(t, foliot.Options{}))
		if _, err := q.Push(d, 1); err != nil {
			t.Fatal(err)
		}
		go func() {
			if n, err := q.Wait(stdcontext.Background(), make([]int, 2)); n != 1 || err != nil {
				t.Errorf("Wait returns %d, %v, want 1, nil", n, err)
			}
			came()
		}()
	},
	"a function of package time": func(_ *testing.T, d time.Duration, came func()) {
		foliottime.AfterFunc(d, came)
	},
	"a context": func(t *testing.T, d time.Duration, came func()) {
		ctx, cancel := foliotcontext.WithTimeout(stdcontext.Background(), d)
		t.Cleanup(cancel)
		go func() { <-ctx.Done(); came() }()
	},
	"a loop": func(t *testing.T, d time.Duration, came func()) {
		l := loop.New(loop.Options{})
		l.CallLater(d, came)
		go func() {
			if err := l.RunUntilIdle(stdcontext.Background()); err != nil {
				t.Errorf("RunUntilIdle returns %v", err)
			}
		}()
	},
}

// The clock goes on while the process is stopped. What came due meanwhile comes once and not early.
func TestWhatCameDueWhileTheProcessWasStoppedComesOnce(t *testing.T) {
	const d = stopTime / 3
	start := time.Now()
	early, came := make([]atomic.Int32, len(overduePackages)), make([]atomic.Int32, len(overduePackages))
	var names []string
	var wg sync.WaitGroup
	for name, arm := range overduePackages {
		i := len(names)
		names = append(names, name)
		wg.Add(1)
		arm(t, d, func() {
			if time.Since(start) < d {
				early[i].Add(1)
			}
			came[i].Add(1)
			wg.Done()
		})
	}
	stopProcess(t)
	if got := time.Since(start); got < stopTime {
		t.Errorf("the clock moved by %v while the process was stopped for %v", got, stopTime)
	}
	testkit.Returns(t, "what came due during the stop", wg.Wait)
	for i, name := range names {
		if came[i].Load() != 1 || early[i].Load() != 0 {
			t.Errorf("%s came %d times, %d of them early, want once and not early", name, came[i].Load(), early[i].Load())
		}
	}
}

func TestATickerDropsTheTicksOfAStop(t *testing.T) {
	const period = stopTime / 15
	start := time.Now()
	ticker := kit.NewTicker(t, kit.NewRuntime(t, foliot.Options{}), period)
	defer ticker.Stop()
	var ticks atomic.Int32
	ctx, cancel := stdcontext.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			select {
			case <-ticker.C:
				ticks.Add(1)
			case <-ctx.Done():
			}
		}
	}()
	stopProcess(t)
	before := ticks.Load()
	testkit.Eventually(t, "it ticks after the stop", func() bool { return ticks.Load() > before+2 })
	got := int(ticks.Load())
	// Of the 14 ticks or more within the stop, at most two come: one that is late and one after it.
	if most := int(time.Since(start)/period) - 10; got > most {
		t.Errorf("%d ticks within %v, a stop of %v included, want at most %d", got, time.Since(start), stopTime, most)
	}
}

func TestFakeClocksStandStillWhileTheProcessIsStopped(t *testing.T) {
	t.Run("manual", func(t *testing.T) {
		r, clock := kit.NewManual(t, foliot.Options{})
		ran := 0
		kit.After(t, r, millisecond, func() { ran++ })
		stopProcess(t)
		if !clock.Now().Equal(kit.Epoch) || ran != 0 {
			t.Errorf("Now is %v and the timer ran %d times, want %v and 0", clock.Now(), ran, kit.Epoch)
		}
		clock.Advance(millisecond)
		if ran != 1 {
			t.Errorf("the timer ran %d times after Advance, want 1", ran)
		}
	})
	t.Run("bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{})
			start := time.Now()
			var ran atomic.Int64
			kit.After(t, r, millisecond, func() { ran.Store(int64(time.Since(start))) })
			stopProcess(t)
			if got := time.Since(start); got != 0 || ran.Load() != 0 {
				t.Errorf("the time is %v and the timer ran after %v, want 0 and not at all", got, time.Duration(ran.Load()))
			}
			time.Sleep(second)
			if got := time.Duration(ran.Load()); got != millisecond {
				t.Errorf("the timer ran after %v, want 1ms", got)
			}
		})
	})
	t.Run("virtual", func(t *testing.T) {
		l := loop.New(loop.Options{Clock: loop.Virtual(hour)})
		defer l.Close()
		l.CallSoon(func() {
			stopProcess(t)
			if got := l.Time(); got != hour {
				t.Errorf("the time after the stop is %v, want 1h", got)
			}
		})
		if err := l.RunUntilIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// The kernel shows of each timerfd on which clock it is. A step of the wall clock does not move
// the monotonic one.
func TestTheTimerfdIsOnTheMonotonicClock(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	before := r.Stats().Fired
	kit.After(t, r, millisecond, func() {})
	testkit.Eventually(t, "a timer has fired", func() bool { return r.Stats().Fired > before })
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	found := 0
	for _, f := range files {
		if name, _ := os.Readlink("/proc/self/fd/" + f.Name()); name != "anon_inode:[timerfd]" {
			continue
		}
		info, err := os.ReadFile("/proc/self/fdinfo/" + f.Name())
		if err != nil || !strings.Contains(string(info), "clockid:") {
			continue
		}
		found++
		if !strings.Contains(string(info), "clockid: 1\n") { // CLOCK_MONOTONIC
			t.Errorf("a timerfd is on another clock:\n%s", info)
		}
	}
	if found == 0 {
		t.Skip("this system does not show the clocks of timerfds")
	}
}
