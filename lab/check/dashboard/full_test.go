//go:build full

package dashboard

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/template"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/prometheus"
)

// Every query of the dashboard has a result, without a warning, whatever the form of histograms is, and
// whether or not the program uses the label runtime.
func TestEveryQueryHasAResult(t *testing.T) {
	for form := range forms {
		for _, l := range []prometheus.Labels{nil, {"runtime": "sessions"}} {
			t.Run(fmt.Sprintf("%s %v", form, l), func(t *testing.T) {
				rt, c := newCollector(t, foliot.Options{}, l)
				s := newServer(t, form)
				var now time.Time
				for i := range 5 {
					work(t, rt, 100)
					now = start.Add(time.Duration(i) * 15 * time.Second)
					s.scrape(t, c, now)
				}
				for _, p := range load(t).Panels {
					for _, target := range p.Targets {
						v := s.query(t, fill(target.Expr), now)
						if len(v) == 0 || slices.ContainsFunc(v, func(s promql.Sample) bool { return math.IsNaN(s.F) }) {
							t.Errorf("%s: the result is %v of\n%s", p.Title, v, target.Expr)
							continue
						}
						// A panel that showed both forms would show everything twice.
						if native := v[0].H != nil; target.Format == "heatmap" && native != (form != "classic") || native && len(v) != 1 {
							t.Errorf("%s: %d results, native: %v", p.Title, len(v), native)
						}
					}
				}
			})
		}
	}
}

func TestQuantilesAgreeWithRuntime(t *testing.T) {
	rt, c := newCollector(t, foliot.Options{}, nil)
	// Callbacks of very different durations, up to some milliseconds.
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		d := time.Duration(math.Exp(r.Float64()*9)) * time.Microsecond / 3
		done := make(chan bool)
		if _, err := rt.AfterFunc(0, func() { time.Sleep(d); close(done) }); err != nil {
			t.Fatal(err)
		}
		<-done
	}
	if _, err := rt.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for form, width := range map[string]float64{"native": math.Exp2(1.0 / 8), "classic": 5} { // from 1 to 5 µs is the widest bucket
		s := newServer(t, form)
		s.scrape(t, c, start)
		value := func(format string, args ...any) float64 {
			v := s.query(t, fmt.Sprintf(format, args...), start)
			if len(v) != 1 {
				t.Fatalf("%s: the result of %s is %v", form, fmt.Sprintf(format, args...), v)
			}
			return v[0].F
		}
		for name, h := range map[string]foliot.Histogram{
			"foliot_timer_lateness_seconds":    rt.Stats().Late,
			"foliot_callback_duration_seconds": rt.Stats().Ran,
		} {
			series := name
			if form == "classic" {
				series += "_bucket"
			} else if n, sum := value("histogram_count(%s)", name), value("histogram_sum(%s)", name); n != 300 || sum != h.Sum().Seconds() {
				t.Errorf("%s has the count %v and the sum %v, want 300 and %v", name, n, sum, h.Sum())
			}
			for _, q := range []float64{0.1, 0.5, 0.9, 0.99} {
				// By rounding, the server may look for a rank that is one less or one more.
				one := 1 / float64(h.Count())
				low := h.Quantile(q-one).Seconds() / width / (1 + 1.0/16)
				high := h.Quantile(q+one).Seconds() * width
				if form == "classic" && low < 1e-6 {
					low = 0 // where the first bucket begins
				}
				if got := value("histogram_quantile(%v, %s)", q, series); got < low || got > high {
					t.Errorf("%s, %s: the quantile %v is %v, want %v to %v", name, form, q, got, low, high)
				}
			}
		}
	}
}

func TestPrometheusAcceptsAlerts(t *testing.T) {
	data, err := os.ReadFile("../../../prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, errs := rulefmt.Parse(data, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
}

func TestAlertsNameRuntimeIfLabelled(t *testing.T) {
	for _, r := range loadAlerts(t) {
		for want, values := range map[string]map[string]string{
			"host:1 ":                    {"instance": "host:1"},
			"host:1 (runtime sessions) ": {"instance": "host:1", "runtime": "sessions"},
		} {
			text := "{{$labels := .Labels}}{{$value := .Value}}" + r.Annotations["summary"]
			data := template.AlertTemplateData(values, nil, "", promql.Sample{F: 1})
			got, err := template.NewTemplateExpander(t.Context(), text, r.Alert, data, model.Now(), nil, nil, nil).Expand()
			if err != nil || !strings.Contains(got, want) {
				t.Errorf("%s: the summary is %q, %v, want one with %q", r.Alert, got, err, want)
			}
		}
	}
}

func TestIdleRuntimeRaisesNoAlert(t *testing.T) {
	rt, c := newCollector(t, foliot.Options{}, nil)
	work(t, rt, 100)
	s := newServer(t, "both")
	var now time.Time
	for i := range 20 {
		now = start.Add(time.Duration(i) * 15 * time.Second)
		s.scrape(t, c, now)
	}
	for _, r := range loadAlerts(t) {
		if v := s.query(t, r.Expr, now); len(v) != 0 {
			t.Errorf("%s: %v", r.Alert, v)
		}
	}
}

// The series are those of 26 hours, a point a minute.
func TestTroubleRaisesItsAlert(t *testing.T) {
	const minutes = 26 * 60
	atTheEnd := func(m int) float64 { return float64(m / (minutes - 2)) }
	growing := func(step float64) func(int) float64 { return func(m int) float64 { return step * float64(m) } }
	constant := func(v float64) func(int) float64 { return func(int) float64 { return v } }
	alternating := func(v float64) func(int) float64 { return func(m int) float64 { return float64(m%2) * v } }
	rules := loadAlerts(t)
	for _, tt := range []struct {
		alert, series string
		value         func(minute int) float64
		want          bool
	}{
		{"FoliotCallbacksBlock", "foliot_workers_blocked_total", growing(120), true},
		{"FoliotCallbacksBlock", "foliot_workers_blocked_total", growing(30), false},
		{"FoliotCallbacksPanic", "foliot_panics_total", atTheEnd, true},
		{"FoliotCallbacksPanic", "foliot_panics_total", constant(7), false},
		{"FoliotCallbacksRescued", "foliot_callbacks_rescued_total", atTheEnd, true},
		{"FoliotCallbacksRescued", "foliot_callbacks_rescued_total", constant(7), false},
		{"FoliotCallbacksWaitForPool", "foliot_callbacks_handed", constant(500), true},
		{"FoliotCallbacksWaitForPool", "foliot_callbacks_handed", alternating(500), false},
		{"FoliotTimersLeak", "foliot_timers_allocated", growing(100), true},
		{"FoliotTimersLeak", "foliot_timers_allocated", growing(1), false},
		{"FoliotTimersLeak", "foliot_timers_allocated", alternating(1_000_000), false},
		{"FoliotQueueGrows", "foliot_queue_values", growing(100), true},
		{"FoliotQueueGrows", "foliot_queue_values", growing(1), false},
	} {
		s := newServer(t, "both")
		series := s.of(labels.FromStrings("__name__", tt.series))
		var now time.Time
		for m := range minutes {
			now = start.Add(time.Duration(m) * time.Minute)
			series.Floats = append(series.Floats, promql.FPoint{T: now.UnixMilli(), F: tt.value(m)})
		}
		i := slices.IndexFunc(rules, func(r rule) bool { return r.Alert == tt.alert })
		if got := len(s.query(t, rules[i].Expr, now)) > 0; got != tt.want {
			t.Errorf("%s with %s up to %v: %v, want %v", tt.alert, tt.series, tt.value(minutes-1), got, tt.want)
		}
	}
}

// With so much slack, timers are late.
func TestLateTimersRaiseAlertInEachForm(t *testing.T) {
	late := loadAlerts(t)[0]
	if late.Alert != "FoliotTimersLate" {
		t.Fatal(late.Alert)
	}
	rt, c := newCollector(t, foliot.Options{Slack: 200 * time.Millisecond}, nil)
	for form := range forms {
		s := newServer(t, form)
		s.scrape(t, c, start)
		for before := rt.Stats().Late; rt.Stats().Late.Sub(before).Quantile(0.99) < 60*time.Millisecond; {
			work(t, rt, 20)
		}
		s.scrape(t, c, start.Add(time.Minute))
		if v := s.query(t, late.Expr, start.Add(time.Minute)); len(v) != 1 || v[0].F < 0.05 {
			t.Errorf("%s: %v", form, v)
		}
	}
}
