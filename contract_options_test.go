package foliot_test

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
)

func TestEveryNonsensicalOptionIsAnError(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"Workers -1":         {Workers: -1},
		"Workers least":      {Workers: math.MinInt},
		"Workers 4097":       {Workers: 4097},
		"Workers most":       {Workers: math.MaxInt},
		"Resolution -1":      {Resolution: -1},
		"Resolution least":   {Resolution: math.MinInt64},
		"Slack -1":           {Slack: -1},
		"Slack least":        {Slack: math.MinInt64},
		"Capacity -1":        {Capacity: -1},
		"MaxTimers -1":       {MaxTimers: -1},
		"SlowCallback -1":    {SlowCallback: -1},
		"StaleLimit -1":      {StaleLimit: -1},
		"ScrubBudget -1":     {ScrubBudget: -1},
		"ScrubInterval -1":   {ScrubInterval: -1},
		"a nil ManualClock":  {Clock: (*foliot.ManualClock)(nil)},
		"one bad, one fine":  {Workers: 2, Slack: -second},
		"one bad on a clock": {Workers: -2, Clock: foliot.NewManualClock(epoch)},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := foliot.New(o)
			wantError(t, "New", err)
			if r != nil {
				t.Error("New returns a runtime as well")
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
			t.Errorf("the error of a negative %s is %v", name, err)
		}
	}
}

func TestEverySensibleOptionWorks(t *testing.T) {
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
		"system clock":          {Clock: foliot.SystemClock()},
		"capacity":              {Capacity: 10_000},
		"capacity over bound":   {Capacity: 100, MaxTimers: 1},
		"bound of one":          {MaxTimers: 1},
		"huge bound":            {MaxTimers: math.MaxInt},
		"go":                    {Go: func(f func()) { go f() }},
		"logger":                {Logger: slog.New(slog.DiscardHandler), SlowCallback: 1},
		"small garbage knobs":   {StaleLimit: 1, ScrubBudget: 1, ScrubInterval: 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRuntime(t, o)
			ran := make(chan time.Time, 1)
			before := time.Now()
			after(t, r, 2*millisecond, func() { ran <- time.Now() })
			if at := receive(t, ran, "a timer"); at.Sub(before) < 2*millisecond {
				t.Errorf("%v early", 2*millisecond-at.Sub(before))
			}
			if o.Workers != 0 && r.Stats().Workers != o.Workers {
				t.Errorf("%d workers, want %d", r.Stats().Workers, o.Workers)
			}
		})
	}
}

func TestANilCallbackIsAnError(t *testing.T) {
	r := newRuntime(t, foliot.Options{MaxTimers: 1})
	timer, err := r.AfterFunc(0, nil)
	wantError(t, "AfterFunc", err)
	wantStale(t, "the timer of a refused AfterFunc", timer)
	timer, err = r.NewTimer(nil)
	wantError(t, "NewTimer", err)
	wantStale(t, "the timer of a refused NewTimer", timer)
	_, err = r.AfterFuncBatch(nil, []foliot.Call{{}})
	wantError(t, "AfterFuncBatch", err)
	if !after(t, r, hour, func() {}).Stop() {
		t.Error("Stop is false")
	}
}

func TestResizeBelowOneAndAbove4096IsAnError(t *testing.T) {
	r := newRuntime(t, foliot.Options{Workers: 3})
	for _, workers := range []int{0, -1, math.MinInt, 4097, math.MaxInt} {
		wantError(t, "Resize", r.Resize(workers))
		if got := r.Stats().Workers; got != 3 {
			t.Fatalf("Resize(%d) made it %d workers", workers, got)
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
	timer := after(t, r, hour, never(t, "a timer in an hour"))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, ctx := range []context.Context{context.Background(), ended} {
		_, err := r.Shutdown(ctx)
		wantError(t, "Shutdown", err)
	}
	if !timer.Stop() {
		t.Error("Stop after a refused Shutdown is false")
	}
	ran := make(chan struct{})
	after(t, r, 0, func() { close(ran) })
	receive(t, ran, "a timer after a refused Shutdown")
}

// records is a slog handler that keeps what it is given.
type records struct {
	slog.Handler
	mu   sync.Mutex
	text []string
}

func (h *records) Enabled(context.Context, slog.Level) bool { return true }
func (h *records) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *records) WithGroup(string) slog.Handler            { return h }

func (h *records) Handle(_ context.Context, rec slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := rec.Message
	rec.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	h.text = append(h.text, text)
	return nil
}

func (h *records) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.text...)
}

func TestCallbacksSlowerThanSlowCallbackAreLogged(t *testing.T) {
	var h records
	r := newRuntime(t, foliot.Options{Logger: slog.New(&h), SlowCallback: 500 * millisecond})
	ran := make(chan struct{}, 1)
	for range 100 {
		after(t, r, 0, func() { ran <- struct{}{} })
		receive(t, ran, "a quick callback")
	}
	if got := h.all(); len(got) != 0 {
		t.Errorf("logged for quick callbacks: %q", got)
	}
	after(t, r, 0, func() { time.Sleep(510 * millisecond); ran <- struct{}{} })
	receive(t, ran, "a slow callback")
	eventually(t, "a log record that says slow", func() bool {
		for _, text := range h.all() {
			if strings.Contains(strings.ToLower(text), "slow") {
				return true
			}
		}
		return false
	})
}

func TestWithoutALoggerNothingIsLogged(t *testing.T) {
	var h records
	prior := slog.Default()
	slog.SetDefault(slog.New(&h))
	defer slog.SetDefault(prior)
	r := newRuntime(t, foliot.Options{Workers: 1})
	var ran sync.WaitGroup
	for range 3 {
		ran.Add(1)
		after(t, r, 0, func() { defer ran.Done(); time.Sleep(30 * millisecond) })
	}
	returns(t, "three slow callbacks", ran.Wait)
	if err := r.Resize(3); err != nil {
		t.Error(err)
	}
	if err := r.Resize(1); err != nil {
		t.Error(err)
	}
	shutdown(t, r)
	if got := h.all(); len(got) != 0 {
		t.Errorf("logged: %q", got)
	}
}
