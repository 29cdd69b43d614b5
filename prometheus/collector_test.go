package prometheus

import (
	"context"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/foliot-go/foliot"
)

func newRuntime(t testing.TB, o foliot.Options) *foliot.Runtime {
	t.Helper()
	rt, err := foliot.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Shutdown(context.Background()) })
	return rt
}

// newRegistry returns a registry that checks all metrics, with the given collectors.
func newRegistry(t testing.TB, cs ...client.Collector) *client.Registry {
	t.Helper()
	reg := client.NewPedanticRegistry()
	for _, c := range cs {
		if err := reg.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	return reg
}

// gather returns the metrics of reg by name.
func gather(t testing.TB, reg client.Gatherer) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*dto.MetricFamily{}
	for _, f := range families {
		byName[f.GetName()] = f
	}
	return byName
}

// known returns a runtime on a manual clock: of five timers, one was stopped, one was reset, two have
// fired, one of them with a panic, and two are armed. A task was polled twice, and a queue has a value.
func known(t testing.TB) *foliot.Runtime {
	t.Helper()
	clock := foliot.NewManualClock(time.Time{})
	rt := newRuntime(t, foliot.Options{Clock: clock, Workers: 1, OnPanic: func(any, []byte) {}})
	var timers [5]foliot.Timer
	for i := range timers {
		var err error
		timers[i], err = rt.AfterFunc(time.Duration(i+1)*time.Second, func() {
			if i == 1 {
				panic("a test")
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !timers[2].Stop() {
		t.Fatal("a timer was not armed")
	}
	if !timers[3].Reset(time.Hour) {
		t.Fatal("a timer was not armed")
	}
	_, err := rt.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		cx.WakeAfter(1500 * time.Millisecond)
		return foliot.Pending
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := foliot.NewQueue[int](rt).Push(time.Hour, 7); err != nil {
		t.Fatal(err)
	}
	clock.Advance(2 * time.Second)
	return rt
}

func TestTheMetricsOfAKnownRuntime(t *testing.T) {
	rt := known(t)
	reg := newRegistry(t, NewCollector(rt, Labels{"runtime": "known"}))
	const want = `
# HELP foliot_callbacks_handed Callbacks that were given to Options.Go and have not started yet.
# TYPE foliot_callbacks_handed gauge
foliot_callbacks_handed{runtime="known"} 0
# HELP foliot_panics_total Panics of callbacks, polls and Options.Go that went to Options.OnPanic.
# TYPE foliot_panics_total counter
foliot_panics_total{runtime="known"} 1
# HELP foliot_queue_values Values in queues, due or not.
# TYPE foliot_queue_values gauge
foliot_queue_values{runtime="known"} 1
# HELP foliot_task_polls_total Polls of tasks.
# TYPE foliot_task_polls_total counter
foliot_task_polls_total{runtime="known"} 2
# HELP foliot_tasks Tasks that have not ended.
# TYPE foliot_tasks gauge
foliot_tasks{runtime="known"} 1
# HELP foliot_timer_lateness_seconds How late timers fired, those of tasks included.
# TYPE foliot_timer_lateness_seconds histogram
foliot_timer_lateness_seconds_bucket{runtime="known",le="1e-06"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="5e-06"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="1e-05"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="2.5e-05"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="5e-05"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="0.0001"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="0.00025"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="0.0005"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="0.001"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="0.0025"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="0.005"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="0.01"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="0.025"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="0.05"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="0.1"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="0.25"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="0.5"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="1"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="2.5"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="5"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="10"} 3
foliot_timer_lateness_seconds_bucket{runtime="known",le="+Inf"} 3
foliot_timer_lateness_seconds_sum{runtime="known"} 0
foliot_timer_lateness_seconds_count{runtime="known"} 3
# HELP foliot_timers_allocated Timers of the program, armed or not, as Options.MaxTimers counts them.
# TYPE foliot_timers_allocated gauge
foliot_timers_allocated{runtime="known"} 2
# HELP foliot_timers_armed Timers that are armed, those of tasks included.
# TYPE foliot_timers_armed gauge
foliot_timers_armed{runtime="known"} 3
# HELP foliot_timers_fired_total Timers that have fired: callbacks started and values sent on channels.
# TYPE foliot_timers_fired_total counter
foliot_timers_fired_total{runtime="known"} 2
# HELP foliot_timers_migrated_total Armed timers that other workers got from workers that retired.
# TYPE foliot_timers_migrated_total counter
foliot_timers_migrated_total{runtime="known"} 0
# HELP foliot_timers_rearmed_total Calls of Reset for timers that were armed.
# TYPE foliot_timers_rearmed_total counter
foliot_timers_rearmed_total{runtime="known"} 1
# HELP foliot_timers_stopped_total Armed timers that were stopped by Stop or Free.
# TYPE foliot_timers_stopped_total counter
foliot_timers_stopped_total{runtime="known"} 1
# HELP foliot_worker_shards Shards of the worker: its own and those that it has adopted.
# TYPE foliot_worker_shards gauge
foliot_worker_shards{runtime="known",worker="0"} 1
# HELP foliot_worker_timers_armed Timers of the worker that are armed.
# TYPE foliot_worker_timers_armed gauge
foliot_worker_timers_armed{runtime="known",worker="0"} 3
# HELP foliot_workers Workers that have not retired.
# TYPE foliot_workers gauge
foliot_workers{runtime="known"} 1
`
	var names []string
	for line := range strings.Lines(want) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			names = append(names, strings.Fields(name)[0])
		}
	}
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	if got := gather(t, reg)["foliot_callback_duration_seconds"].GetMetric()[0].GetHistogram().GetSampleCount(); got != 4 {
		t.Errorf("%d durations of two callbacks and two polls", got)
	}
}

func TestPromlintHasNoComplaint(t *testing.T) {
	problems, err := testutil.GatherAndLint(newRegistry(t, NewCollector(known(t), nil)))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestTwoRuntimesShareARegistry(t *testing.T) {
	a, b := newRuntime(t, foliot.Options{Workers: 3}), known(t)
	reg := newRegistry(t, NewCollector(a, Labels{"runtime": "a"}), NewCollector(b, Labels{"runtime": "b"}))
	got := map[string]float64{}
	for _, m := range gather(t, reg)["foliot_timers_armed"].GetMetric() {
		got[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
	}
	if len(got) != 2 || got["a"] != 0 || got["b"] != 3 {
		t.Error(got)
	}
	if err := reg.Register(NewCollector(b, Labels{"runtime": "a"})); err == nil {
		t.Error("a second collector with the same labels is no error")
	}
	if err := reg.Register(NewCollector(b, nil)); err == nil {
		t.Error("a second collector with other names of labels is no error")
	}
}

func TestTheLabelsAreCopied(t *testing.T) {
	labels := Labels{"runtime": "a"}
	c := NewCollector(known(t), labels)
	labels["runtime"] = "b"
	labels["more"] = "c"
	for name, f := range gather(t, newRegistry(t, c)) {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "more" || l.GetName() == "runtime" && l.GetValue() != "a" {
					t.Errorf("%s has the label %s=%q", name, l.GetName(), l.GetValue())
				}
			}
		}
	}
}

func TestANilRuntimePanics(t *testing.T) {
	defer func() {
		if v, _ := recover().(string); !strings.HasPrefix(v, "prometheus: NewCollector(nil") {
			t.Errorf("panic with %q", v)
		}
	}()
	NewCollector(nil, nil)
}

func TestInvalidLabelsAreErrorsOfRegister(t *testing.T) {
	rt := newRuntime(t, foliot.Options{})
	for _, name := range []string{"le", "worker", "version", "__name", "\xff", ""} {
		c := NewCollector(rt, Labels{name: "x"})
		if err := client.NewRegistry().Register(c); err == nil {
			t.Errorf("the label %q is no error", name)
		}
	}
	if err := client.NewRegistry().Register(NewCollector(rt, Labels{"runtime": "\xff"})); err == nil {
		t.Error("a value that is not UTF-8 is no error")
	}
}

// A collector need not be registered. Then its metrics report what is wrong with the labels.
func TestMetricsWithInvalidLabelsReportTheError(t *testing.T) {
	c := NewCollector(newRuntime(t, foliot.Options{}), Labels{"le": "x"})
	ch := make(chan client.Metric, 1000)
	c.Collect(ch)
	close(ch)
	if len(ch) < len(scalars) {
		t.Fatalf("%d metrics", len(ch))
	}
	for m := range ch {
		if err := m.Write(new(dto.Metric)); err == nil {
			t.Error("a metric without an error")
		}
	}
}

func TestARuntimeThatIsShutDownHasMetrics(t *testing.T) {
	rt := known(t)
	reg := newRegistry(t, NewCollector(rt, nil))
	before := gather(t, reg)
	if _, err := rt.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := gather(t, reg)
	if len(after) != len(before) {
		t.Errorf("%d metrics, then %d", len(before), len(after))
	}
	if n := after["foliot_timers_fired_total"].GetMetric()[0].GetCounter().GetValue(); n != 2 {
		t.Errorf("%v timers have fired", n)
	}
}

// Shutdown withdraws callbacks that Options.Go has not started. They are not in Stats.Fired before it
// either.
func TestNoCounterFallsAtShutdown(t *testing.T) {
	started, end := make(chan bool, 1), make(chan bool)
	rt := newRuntime(t, foliot.Options{Workers: 1, Go: func(func()) {
		select {
		case started <- true:
		default:
		}
		<-end
	}})
	defer close(end)
	reg := newRegistry(t, NewCollector(rt, nil))
	if _, err := rt.AfterFunc(0, func() {}); err != nil {
		t.Fatal(err)
	}
	<-started
	counters := func() map[string]float64 {
		values := map[string]float64{}
		for name, m := range gather(t, reg) {
			if m.GetType() == dto.MetricType_COUNTER {
				values[name] = m.GetMetric()[0].GetCounter().GetValue()
			}
		}
		return values
	}
	before := counters()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if n, err := rt.Shutdown(ctx); n != 1 {
		t.Fatalf("Shutdown returns %d, %v", n, err)
	}
	after := counters()
	if len(before) < 5 || len(after) != len(before) {
		t.Fatalf("%d counters, then %d", len(before), len(after))
	}
	for name, n := range after {
		if n < before[name] {
			t.Errorf("%s goes from %v to %v", name, before[name], n)
		}
	}
}

func TestTheCostOfAScrapeIsBounded(t *testing.T) {
	rt := newRuntime(t, foliot.Options{Workers: 2})
	c := NewCollector(rt, nil)
	ch := make(chan client.Metric, 1000)
	scrape := func() float64 {
		return testing.AllocsPerRun(10, func() {
			c.Collect(ch)
			for len(ch) > 0 {
				if err := (<-ch).Write(new(dto.Metric)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	before := scrape()
	for range 10_000 {
		if _, err := rt.AfterFunc(time.Hour, func() {}); err != nil {
			t.Fatal(err)
		}
	}
	after := scrape()
	if after > before+50 || after > 400 {
		t.Errorf("%v allocations, and %v with 10,000 timers", before, after)
	}
}

func TestTheVersionIsThatOfTheRootModule(t *testing.T) {
	dep := func(version string, replaced *debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{
			Main: debug.Module{Path: "example.com/program", Version: "v9.9.9"},
			Deps: []*debug.Module{{Path: "example.com/other", Version: "v8.8.8"}, {Path: rootModule, Version: version, Replace: replaced}},
		}
	}
	for _, tt := range []struct {
		info *debug.BuildInfo
		ok   bool
		want string
	}{
		{nil, false, "unknown"},
		{&debug.BuildInfo{}, true, "unknown"},
		{dep("v1.2.3", nil), true, "v1.2.3"},
		{dep("v1.2.3", &debug.Module{Path: "../foliot"}), true, "(devel)"},
		{dep("v1.2.3", &debug.Module{Path: "example.com/fork", Version: "v1.2.4"}), true, "v1.2.4"},
		{&debug.BuildInfo{Main: debug.Module{Path: rootModule, Version: "(devel)"}}, true, "(devel)"},
	} {
		if got := moduleVersion(tt.info, tt.ok); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	info := gather(t, newRegistry(t, NewCollector(known(t), nil)))["foliot_build_info"].GetMetric()
	if len(info) != 1 || info[0].GetGauge().GetValue() != 1 || info[0].GetLabel()[0].GetValue() != version || version == "" {
		t.Error(info)
	}
}
