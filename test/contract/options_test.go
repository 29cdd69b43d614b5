package contract_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestNewRefusesInvalidOptions(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"Workers -1":         {Workers: -1},
		"Workers min":        {Workers: math.MinInt},
		"Workers 4097":       {Workers: 4097},
		"Workers max":        {Workers: math.MaxInt},
		"Resolution -1":      {Resolution: -1},
		"Resolution min":     {Resolution: math.MinInt64},
		"Slack -1":           {Slack: -1},
		"Slack min":          {Slack: math.MinInt64},
		"Capacity -1":        {Capacity: -1},
		"MaxTimers -1":       {MaxTimers: -1},
		"SlowCallback -1":    {SlowCallback: -1},
		"StaleLimit -1":      {StaleLimit: -1},
		"a nil ManualClock":  {Clock: (*foliot.ManualClock)(nil)},
		"one invalid option": {Workers: 2, Slack: -second},
		"a manual clock":     {Workers: -2, Clock: foliot.NewManualClock(kit.Epoch)},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := foliot.New(o)
			wantError(t, "New", err)
			if r != nil {
				t.Error("New returns an error and a runtime")
			}
		})
	}
}

func TestErrorsOfOptionsNameTheOption(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"Workers":      {Workers: -1},
		"Resolution":   {Resolution: -1},
		"Slack":        {Slack: -1},
		"Capacity":     {Capacity: -1},
		"MaxTimers":    {MaxTimers: -1},
		"SlowCallback": {SlowCallback: -1},
	} {
		if _, err := foliot.New(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error of a negative %s is %v, want one with its name", name, err)
		}
	}
}

func TestNewAcceptsValidOptions(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"zero":                  {},
		"one worker":            {Workers: 1},
		"4096 workers":          {Workers: 4096},
		"resolution of 1 ns":    {Resolution: 1},
		"resolution of 20 ms":   {Resolution: 20 * millisecond},
		"slack":                 {Slack: 5 * millisecond},
		"slack over resolution": {Slack: 1, Resolution: millisecond},
		"precise":               {Precise: true},
		"precise with slack":    {Precise: true, Slack: millisecond},
		"capacity":              {Capacity: 10_000},
		"capacity over bound":   {Capacity: 100, MaxTimers: 1},
		"bound of one":          {MaxTimers: 1},
		"huge bound":            {MaxTimers: math.MaxInt},
		"go":                    {Go: func(f func()) { go f() }},
		"logger":                {Logger: slog.New(slog.DiscardHandler), SlowCallback: 1},
		"small stale limit":     {StaleLimit: 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			ran := make(chan time.Time, 1)
			before := time.Now()
			kit.After(t, r, 2*millisecond, func() { ran <- time.Now() })
			if at := testkit.Receive(t, ran, "a timer"); at.Sub(before) < 2*millisecond {
				t.Errorf("the timer ran %v early", 2*millisecond-at.Sub(before))
			}
			if o.Workers != 0 && r.Stats().Workers != o.Workers {
				t.Errorf("Workers is %d, want %d", r.Stats().Workers, o.Workers)
			}
		})
	}
}

func TestANilCallbackIsAnError(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{MaxTimers: 1})
	timer, err := r.AfterFunc(0, nil)
	wantError(t, "AfterFunc", err)
	wantStale(t, "the timer of a refused AfterFunc", timer)
	timer, err = r.NewTimer(nil)
	wantError(t, "NewTimer", err)
	wantStale(t, "the timer of a refused NewTimer", timer)
	_, err = r.AfterFuncBatch(nil, []foliot.Call{{}})
	wantError(t, "AfterFuncBatch", err)
	if !kit.After(t, r, hour, func() {}).Stop() {
		t.Error("Stop returns false, want true")
	}
}

func TestResizeBelowOneAndAbove4096IsAnError(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 3})
	for _, workers := range []int{0, -1, math.MinInt, 4097, math.MaxInt} {
		wantError(t, "Resize", r.Resize(workers))
		if got := r.Stats().Workers; got != 3 {
			t.Fatalf("Workers is %d after Resize(%d), want 3", got, workers)
		}
	}
}

func TestTheErrorsOfThePackageHaveItsPrefix(t *testing.T) {
	wantError(t, "ErrClosed", foliot.ErrClosed)
	wantError(t, "ErrFull", foliot.ErrFull)
	if errors.Is(foliot.ErrClosed, foliot.ErrFull) {
		t.Error("ErrClosed is ErrFull")
	}
}

func TestTheDefaultRuntimeRefusesShutdown(t *testing.T) {
	r := foliot.Default()
	timer := kit.After(t, r, hour, kit.Never(t, "a timer in an hour"))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, ctx := range []context.Context{context.Background(), ended} {
		_, err := r.Shutdown(ctx)
		wantError(t, "Shutdown", err)
	}
	if !timer.Stop() {
		t.Error("Stop after a refused Shutdown returns false, want true")
	}
	ran := make(chan struct{})
	kit.After(t, r, 0, func() { close(ran) })
	testkit.Receive(t, ran, "a timer after a refused Shutdown")
}

func TestCallbacksSlowerThanSlowCallbackAreLogged(t *testing.T) {
	var h testkit.LogRecorder
	r := kit.NewRuntime(t, foliot.Options{Logger: slog.New(&h), SlowCallback: 500 * millisecond})
	ran := make(chan struct{}, 1)
	for range 100 {
		kit.After(t, r, 0, func() { ran <- struct{}{} })
		testkit.Receive(t, ran, "a quick callback")
	}
	// Other records may be there: on a busy machine a worker looks blocked.
	for _, text := range h.Records() {
		if strings.Contains(text, "slow") {
			t.Errorf("got the record %q for a quick callback", text)
		}
	}
	kit.After(t, r, 0, func() { time.Sleep(510 * millisecond); ran <- struct{}{} })
	testkit.Receive(t, ran, "a slow callback")
	testkit.Eventually(t, "a log record that says slow", func() bool {
		for _, text := range h.Records() {
			if strings.Contains(strings.ToLower(text), "slow") {
				return true
			}
		}
		return false
	})
}

func TestWithoutALoggerNothingIsLogged(t *testing.T) {
	var h testkit.LogRecorder
	prior := slog.Default()
	slog.SetDefault(slog.New(&h))
	defer slog.SetDefault(prior)
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	var ran sync.WaitGroup
	for range 3 {
		ran.Add(1)
		kit.After(t, r, 0, func() { defer ran.Done(); time.Sleep(30 * millisecond) })
	}
	testkit.Returns(t, "three slow callbacks", ran.Wait)
	if err := r.Resize(3); err != nil {
		t.Error(err)
	}
	if err := r.Resize(1); err != nil {
		t.Error(err)
	}
	kit.Shutdown(t, r)
	if got := h.Records(); len(got) != 0 {
		t.Errorf("got the records %q, want none", got)
	}
}
