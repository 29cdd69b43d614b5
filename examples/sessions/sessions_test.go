package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
)

func TestTasksAndGoroutinesAddUp(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), strings.Fields("-n 1000 -heartbeat 100ms -idle 250ms -for 200ms -silent 7"), &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if strings.Count(out.String(), "; 70 sessions closed for idleness") != 2 || !strings.Contains(out.String(), "tasks ") || !strings.Contains(out.String(), "goroutines ") {
		t.Error(out.String())
	}
}

func TestGoroutinesRunAlone(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), strings.Fields("-goroutines -n 100 -heartbeat 50ms -idle 120ms -for 50ms -silent 100"), &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "; 100 sessions closed for idleness") || strings.Contains(out.String(), "tasks ") {
		t.Error(out.String())
	}
}

// spawned returns a session on a manual clock, and the fleet of which it is the only one.
func spawned(t *testing.T, silent bool) (*foliot.ManualClock, *foliot.Runtime, *fleet) {
	t.Helper()
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	beat, err := foliot.NewInterval(time.Second, foliot.Burst)
	if err != nil {
		t.Fatal(err)
	}
	f := newFleet(config{n: 1, beat: time.Second, idle: 2500 * time.Millisecond, lasting: time.Second})
	if _, err := rt.Spawn(&session{fleet: f, beat: beat, timeout: foliot.NewDelay(f.idle), silent: silent}); err != nil {
		t.Fatal(err)
	}
	return clock, rt, f
}

func TestASilentSessionIsClosedAtItsTimeout(t *testing.T) {
	clock, rt, f := spawned(t, true)
	clock.Advance(2500*time.Millisecond - 1)
	if f.idled.Load() != 0 || f.left.Load() != 1 {
		t.Error("closed early")
	}
	clock.Advance(1)
	if f.idled.Load() != 1 || f.left.Load() != 0 || f.sent.Load() != 2 || f.wrong.Load() != 0 {
		t.Errorf("%d closed for idleness, %d left, %d heartbeats", f.idled.Load(), f.left.Load(), f.sent.Load())
	}
	if st := rt.Stats(); st.Tasks != 0 || st.Armed != 0 {
		t.Errorf("%d tasks, %d timers left", st.Tasks, st.Armed)
	}
}

func TestASessionThatIsAnsweredLastsUntilItsLastHeartbeat(t *testing.T) {
	clock, rt, f := spawned(t, false)
	clock.Advance(100 * time.Second)
	f.last.Store(110)
	clock.Advance(10*time.Second - 1)
	if f.left.Load() != 1 {
		t.Error("it ended early")
	}
	clock.Advance(1)
	if f.left.Load() != 0 || f.sent.Load() != 110 || f.idled.Load() != 0 || f.early.Load() != 0 {
		t.Errorf("%d left, %d heartbeats, %d of them early, %d closed for idleness", f.left.Load(), f.sent.Load(), f.early.Load(), f.idled.Load())
	}
	if st := rt.Stats(); st.Tasks != 0 || st.Armed != 0 {
		t.Errorf("%d tasks, %d timers left", st.Tasks, st.Armed)
	}
}

func TestASampleTellsHowLateAHeartbeatIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(config{n: 1, beat: time.Second, lasting: time.Second})
		s, unsure := f.sampleOf(0), f.sampleOf(sampling)
		s.begin(func() {})
		unsure.begin(func() { time.Sleep(vague) })
		time.Sleep(3*time.Second + time.Millisecond - vague)
		s.sent(f, 3) // not yet measuring
		f.measuring.Store(true)
		for _, x := range []*sample{s, unsure, f.sampleOf(1)} {
			x.sent(f, 3)
		}
		if want := []time.Duration{time.Millisecond}; !slices.Equal(f.lateness, want) {
			t.Errorf("%v, want %v", f.lateness, want)
		}
	})
}

func TestWhatDoesNotAddUpIsAnError(t *testing.T) {
	for what, spoil := range map[string]func(f *fleet, r *row){
		"closed for idleness though": func(f *fleet, _ *row) { f.wrong.Add(1) },
		"peers silent":               func(f *fleet, _ *row) { f.idled.Add(1) },
		"came early":                 func(f *fleet, _ *row) { f.early.Add(1) },
		"heartbeats were sent":       func(_ *fleet, r *row) { r.missed = 1 },
	} {
		f, r := newFleet(config{n: 1, beat: 1, lasting: 1}), row{n: 1, beat: 1, window: 1, polls: 1}
		spoil(f, &r)
		if err := f.conclude("tasks", r, nil, io.Discard); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("want an error about %q, got %v", what, err)
		}
	}
}

func TestGoroutinesAreNoMoreThanAskedForOrBearable(t *testing.T) {
	for _, n := range []int{1, 1000, 1 << 30} {
		c := config{n: n, beat: time.Second}
		if got := c.bearable(); got < 1 || got > n || n > 1<<29 && got == n {
			t.Errorf("%d of %d", got, n)
		}
	}
}

func TestAnInterruptEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if err := run(ctx, strings.Fields("-n 100 -for 1h"), io.Discard); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTheSilentOnesAreSpreadEvenly(t *testing.T) {
	f := newFleet(config{n: 1000, beat: 1, silent: 7})
	for from := 0; from < 1000; from += 100 {
		silent := 0
		for i := range 100 {
			if f.isSilent(from + i) {
				silent++
			}
		}
		if silent != 7 {
			t.Errorf("%d of the hundred from %d on", silent, from)
		}
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	for _, args := range []string{
		"-n 0", "-heartbeat 0s", "-idle 1ms", "-for 1ms", "-for 30h", "-slack -1s", "-silent -1", "-silent 101", "-no-such-flag", "extra",
	} {
		if err := run(t.Context(), strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}
