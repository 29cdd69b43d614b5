package contract_test

import (
	"context"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// wantShares checks that shares add up to 1, the largest first, and returns the number of samples.
func wantShares(t *testing.T, shares []foliot.CallbackShare) (samples int) {
	t.Helper()
	sum := 0.0
	for i, s := range shares {
		sum += s.Share
		samples += s.Samples
		if s.Func == "" || s.Share <= 0 || s.Samples <= 0 || i > 0 && s.Share > shares[i-1].Share {
			t.Errorf("share %d is %+v after %+v", i, s, shares[:i])
		}
	}
	if len(shares) > 0 && math.Abs(sum-1) > 1e-9 {
		t.Errorf("the shares add up to %v, want 1", sum)
	}
	return samples
}

// shareOf returns the share of the functions whose name ends in a text.
func shareOf(shares []foliot.CallbackShare, name string) (share float64) {
	for _, s := range shares {
		if strings.HasSuffix(s.Func, name) {
			share += s.Share
		}
	}
	return share
}

func callbackA() {}
func callbackB() {}
func callbackC() {}

func TestCallbacksOfFewTimersAreExact(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		rt, _ := kit.NewManual(t, foliot.Options{Workers: workers})
		if shares := rt.Callbacks(0); len(shares) != 0 {
			t.Errorf("without timers Callbacks returns %v", shares)
		}
		for i := range 100 {
			f := callbackA
			switch {
			case i%10 == 0:
				f = callbackC
			case i%10 < 4:
				f = callbackB
			}
			kit.After(t, rt, time.Duration(i+1)*second, f)
			kit.After(t, rt, second, kit.Never(t, "a stopped timer")).Stop()
			kit.NewTimer(t, rt, kit.Never(t, "a timer that is not armed"))
		}
		shares := rt.Callbacks(0)
		if n := wantShares(t, shares); n != 100 || len(shares) != 3 {
			t.Errorf("Callbacks returns %v, of %d samples; want 3 functions and 100 samples", shares, n)
		}
		for i, want := range []struct {
			name  string
			share float64
		}{{".callbackA", 0.6}, {".callbackB", 0.3}, {".callbackC", 0.1}} {
			if got := shares[i]; !strings.HasSuffix(got.Func, want.name) || math.Abs(got.Share-want.share) > 1e-9 {
				t.Errorf("share %d is %+v, want %v of %s", i, got, want.share, want.name)
			}
		}
		if n := wantShares(t, rt.Callbacks(10)); n != 10 {
			t.Errorf("Callbacks(10) has %d samples, want 10", n)
		}
	})
}

func TestCallbacksOfManyTimersAreClose(t *testing.T) {
	testkit.SkipIfShort(t)
	rt := kit.NewRuntime(t, foliot.Options{Workers: 4})
	var arming sync.WaitGroup
	for range 8 {
		arming.Go(func() {
			var stopped []foliot.Timer
			for i := range 20_000 {
				f := callbackA
				switch {
				case i%20 == 0:
					f = callbackC
				case i%20 < 6:
					f = callbackB
				}
				kit.After(t, rt, hour+kit.Random(hour), f)
				if i%2 == 0 {
					stopped = append(stopped, kit.After(t, rt, hour, kit.Never(t, "a stopped timer")))
				}
			}
			for _, timer := range stopped {
				timer.Stop()
			}
		})
	}
	arming.Wait()
	shares := rt.Callbacks(math.MaxInt)
	n := wantShares(t, shares)
	if n < 2000 || n > 4096 {
		t.Errorf("Callbacks has %d samples, want about 4,096 and not more", n)
	}
	// Of 2,000 samples the standard deviation of a share of 0.7 is 0.01.
	for name, want := range map[string]float64{".callbackA": 0.7, ".callbackB": 0.25, ".callbackC": 0.05} {
		if got := shareOf(shares, name); math.Abs(got-want) > 0.08 {
			t.Errorf("%s has the share %v, want about %v", name, got, want)
		}
	}
	if n := wantShares(t, rt.Callbacks(-1)); n < 250 || n > 500 {
		t.Errorf("Callbacks(-1) has %d samples, want about 500", n)
	}
}

// TestCallbacksFindTheFewThatAreArmed arms few of many timers: then Callbacks finds few by chance.
func TestCallbacksFindTheFewThatAreArmed(t *testing.T) {
	rt, _ := kit.NewManual(t, foliot.Options{})
	for range 20_000 {
		kit.NewTimer(t, rt, kit.Never(t, "a timer that is not armed"))
	}
	kit.After(t, rt, hour, callbackA)
	kit.After(t, rt, hour, callbackA)
	if shares := rt.Callbacks(0); shareOf(shares, ".callbackA") != 1 {
		t.Errorf("Callbacks returns %v, want only callbackA", shares)
	}
}

// namedTask is a task with a name.
type namedTask struct{ delay foliot.Delay }

func (n *namedTask) Poll(cx *foliot.Context) foliot.Status {
	n.delay.Poll(cx)
	return foliot.Pending
}

// closer has a method that is a callback.
type closer struct{ _ int }

func (c *closer) close() {}

func pollHour(cx *foliot.Context) foliot.Status {
	d := foliot.NewDelay(hour)
	d.Poll(cx)
	return foliot.Pending
}

func evictNothing(int) {}

func TestCallbacksHaveTheNamesOfEvents(t *testing.T) {
	const pkg = "github.com/foliot-go/foliot/test/contract_test."
	every := func(t *testing.T, rt *foliot.Runtime) {
		if _, err := rt.Every(hour, callbackA); err != nil {
			t.Fatal(err)
		}
	}
	spawn := func(task foliot.Task) func(*testing.T, *foliot.Runtime) {
		return func(t *testing.T, rt *foliot.Runtime) {
			if _, err := rt.Spawn(task); err != nil {
				t.Fatal(err)
			}
		}
	}
	for want, arm := range map[string]func(t *testing.T, rt *foliot.Runtime){
		pkg + "callbackA":                 every,
		pkg + "(*closer).close-fm":        func(t *testing.T, rt *foliot.Runtime) { kit.After(t, rt, hour, new(closer).close) },
		"(*contract_test.namedTask).Poll": spawn(&namedTask{foliot.NewDelay(hour)}),
		pkg + "pollHour":                  spawn(foliot.TaskFunc(pollHour)),
		pkg + "evictNothing": func(t *testing.T, rt *foliot.Runtime) {
			e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: rt, Evict: evictNothing})
			if _, err := e.Push(hour, 1); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { e.Close() }) // it lives until then
		},
		"send on a channel": func(t *testing.T, rt *foliot.Runtime) {
			c := kit.NewTicker(t, rt, hour)
			t.Cleanup(c.Stop)
		},
		"end a context": func(t *testing.T, rt *foliot.Runtime) {
			_, cancel := rt.WithTimeout(context.Background(), hour)
			t.Cleanup(cancel)
		},
		"wake a Sleep": func(t *testing.T, rt *foliot.Runtime) {
			ctx, cancel := context.WithCancel(t.Context())
			var sleeping sync.WaitGroup
			sleeping.Go(func() { _ = rt.Sleep(ctx, hour) })
			t.Cleanup(sleeping.Wait)
			t.Cleanup(cancel)
		},
	} {
		t.Run(want, func(t *testing.T) {
			rt := kit.NewRuntime(t, foliot.Options{})
			arm(t, rt)
			testkit.Eventually(t, "it is armed", func() bool { return rt.Stats().Armed == 1 })
			shares := rt.Callbacks(0)
			if len(shares) != 1 || shares[0] != (foliot.CallbackShare{Func: want, Share: 1, Samples: 1}) {
				t.Errorf("Callbacks returns %v, want %s", shares, want)
			}
		})
	}
}

// Tickers, timers with a channel and sleeps are told apart although their callbacks are the library's.
func TestTimersWithAChannelHaveOneName(t *testing.T) {
	rt := kit.NewRuntime(t, foliot.Options{})
	kit.NewTicker(t, rt, hour)
	kit.NewChanTimer(t, rt, hour)
	shares := rt.Callbacks(0)
	if len(shares) != 1 || shares[0] != (foliot.CallbackShare{Func: "send on a channel", Share: 1, Samples: 2}) {
		t.Errorf("Callbacks returns %v, want one share", shares)
	}
}
