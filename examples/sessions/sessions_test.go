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

// spawnOne spawns a single session on a manual clock, and returns its group.
func spawnOne(t *testing.T, silent bool) (*foliot.ManualClock, *foliot.Runtime, *sessionGroup) {
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
	g := newSessionGroup(config{n: 1, beat: time.Second, idle: 2500 * time.Millisecond, lasting: time.Second})
	if _, err := rt.Spawn(&session{group: g, beat: beat, timeout: foliot.NewDelay(g.idle), silent: silent}); err != nil {
		t.Fatal(err)
	}
	return clock, rt, g
}

func TestASilentSessionIsClosedAtItsTimeout(t *testing.T) {
	clock, rt, g := spawnOne(t, true)
	clock.Advance(2500*time.Millisecond - 1)
	if g.closedIdle.Load() != 0 || g.left.Load() != 1 {
		t.Error("closed early")
	}
	clock.Advance(1)
	if g.closedIdle.Load() != 1 || g.left.Load() != 0 || g.sent.Load() != 2 || g.wronglyClosed.Load() != 0 {
		t.Errorf("%d closed for idleness, %d left, %d heartbeats", g.closedIdle.Load(), g.left.Load(), g.sent.Load())
	}
	if st := rt.Stats(); st.Tasks != 0 || st.Armed != 0 {
		t.Errorf("%d tasks, %d timers left", st.Tasks, st.Armed)
	}
}

func TestASessionThatIsAnsweredLastsUntilItsLastHeartbeat(t *testing.T) {
	clock, rt, g := spawnOne(t, false)
	clock.Advance(100 * time.Second)
	g.lastBeat.Store(110)
	clock.Advance(10*time.Second - 1)
	if g.left.Load() != 1 {
		t.Error("it ended early")
	}
	clock.Advance(1)
	if g.left.Load() != 0 || g.sent.Load() != 110 || g.closedIdle.Load() != 0 || g.early.Load() != 0 {
		t.Errorf("%d left, %d heartbeats, %d of them early, %d closed for idleness", g.left.Load(), g.sent.Load(), g.early.Load(), g.closedIdle.Load())
	}
	if st := rt.Stats(); st.Tasks != 0 || st.Armed != 0 {
		t.Errorf("%d tasks, %d timers left", st.Tasks, st.Armed)
	}
}

func TestASampleRecordsHowLateAHeartbeatIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newSessionGroup(config{n: 1, beat: time.Second, lasting: time.Second})
		s, unsure := g.sampleOf(0), g.sampleOf(sampleEvery)
		s.begin(func() {})
		unsure.begin(func() { time.Sleep(maxStartTime) })
		time.Sleep(3*time.Second + time.Millisecond - maxStartTime)
		s.sent(g, 3) // not yet measuring
		g.measuring.Store(true)
		for _, x := range []*sample{s, unsure, g.sampleOf(1)} {
			x.sent(g, 3)
		}
		if want := []time.Duration{time.Millisecond}; !slices.Equal(g.lateness, want) {
			t.Errorf("%v, want %v", g.lateness, want)
		}
	})
}

func TestWrongTotalsAreErrors(t *testing.T) {
	for what, spoil := range map[string]func(g *sessionGroup, r *row){
		"closed for idleness although": func(g *sessionGroup, _ *row) { g.wronglyClosed.Add(1) },
		"peers were silent":            func(g *sessionGroup, _ *row) { g.closedIdle.Add(1) },
		"heartbeats were early":        func(g *sessionGroup, _ *row) { g.early.Add(1) },
		"heartbeats were sent":         func(_ *sessionGroup, r *row) { r.missed = 1 },
	} {
		g, r := newSessionGroup(config{n: 1, beat: 1, lasting: 1}), row{n: 1, beat: 1, window: 1, polls: 1}
		spoil(g, &r)
		if err := g.report("tasks", r, nil, io.Discard); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("want an error about %q, got %v", what, err)
		}
	}
}

func TestGoroutinesAreNoMoreThanRequestedOrManageable(t *testing.T) {
	for _, n := range []int{1, 1000, 1 << 30} {
		c := config{n: n, beat: time.Second}
		if got := c.maxGoroutines(); got < 1 || got > n || n > 1<<29 && got == n {
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

func TestSilentSessionsAreSpreadEvenly(t *testing.T) {
	g := newSessionGroup(config{n: 1000, beat: 1, silent: 7})
	for from := 0; from < 1000; from += 100 {
		silent := 0
		for i := range 100 {
			if g.isSilent(from + i) {
				silent++
			}
		}
		if silent != 7 {
			t.Errorf("%d of the hundred from %d on", silent, from)
		}
	}
}

func TestInvalidFlagsAreErrors(t *testing.T) {
	for _, args := range []string{
		"-n 0", "-heartbeat 0s", "-idle 1ms", "-for 1ms", "-for 30h", "-slack -1s", "-silent -1", "-silent 101", "-no-such-flag", "extra",
	} {
		if err := run(t.Context(), strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}
