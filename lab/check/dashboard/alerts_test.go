package dashboard

import (
	"context"
	"log/slog"
	"os"
	"regexp"
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

func loadAlerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	data, err := os.ReadFile("../../../prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(data, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if t.Failed() || len(groups.Groups) != 1 {
		t.Fatalf("the alerts are invalid, or not in one group")
	}
	return groups.Groups[0].Rules
}

func TestTheAlertsUseMetricsThatExist(t *testing.T) {
	metrics := exported(t)
	for _, rule := range loadAlerts(t) {
		parser.Inspect(parse(t, rule.Expr), func(node parser.Node, _ []parser.Node) error {
			if s, ok := node.(*parser.VectorSelector); ok && metricOf(s.Name, metrics) == "" {
				t.Errorf("%s: there is no metric %q", rule.Alert, s.Name)
			}
			return nil
		})
		if rule.Annotations["summary"] == "" || rule.Labels["severity"] == "" {
			t.Errorf("%s has no summary or no severity", rule.Alert)
		}
	}
}

func TestTheAlertsNameTheRuntimeIfThereIsALabel(t *testing.T) {
	for _, rule := range loadAlerts(t) {
		for runtime, want := range map[string]string{"": "host:1 ", "sessions": "host:1 (runtime sessions) "} {
			values := map[string]string{"instance": "host:1"}
			if runtime != "" {
				values["runtime"] = runtime
			}
			text := "{{$labels := .Labels}}{{$value := .Value}}" + rule.Annotations["summary"]
			data := template.AlertTemplateData(values, nil, "", promql.Sample{F: 1})
			got, err := template.NewTemplateExpander(t.Context(), text, rule.Alert, data, model.Now(), nil, nil, nil).Expand()
			if err != nil || !strings.Contains(got, want) {
				t.Errorf("%s: the summary is %q, %v, want one with %q", rule.Alert, got, err, want)
			}
		}
	}
}

func TestThePageListsTheAlerts(t *testing.T) {
	page, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| alert | then |")
	table, _, _ = strings.Cut(table, "\n\n")
	var got, want []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		got = append(got, m[1])
	}
	for _, rule := range loadAlerts(t) {
		want = append(want, rule.Alert)
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/metrics.md has the alerts %v, want %v", got, want)
	}
}

func TestARuntimeWithoutTroubleRaisesNoAlert(t *testing.T) {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Shutdown(context.Background())
	work(t, rt, 100)
	url := serve(t, prometheus.NewCollector(rt, nil))
	s := newServer(t, forms["both"])
	var now time.Time
	for i := range 20 { // nothing happens any more
		now = start.Add(time.Duration(i) * 15 * time.Second)
		s.scrape(t, url, now)
	}
	for _, rule := range loadAlerts(t) {
		if v := s.query(t, rule.Expr, now); len(v) != 0 {
			t.Errorf("%s: %v", rule.Alert, v)
		}
	}
}

// The series are those of 26 hours, a point a minute.
func TestTroubleRaisesItsAlert(t *testing.T) {
	const minutes = 26 * 60
	for _, tt := range []struct {
		alert  string
		series string
		value  func(minute int) float64
		want   bool
	}{
		{"FoliotCallbacksBlock", "foliot_workers_blocked_total", func(m int) float64 { return float64(120 * m) }, true},
		{"FoliotCallbacksBlock", "foliot_workers_blocked_total", func(m int) float64 { return float64(30 * m) }, false},
		{"FoliotCallbacksPanic", "foliot_panics_total", func(m int) float64 { return float64(m / (minutes - 2)) }, true},
		{"FoliotCallbacksPanic", "foliot_panics_total", func(int) float64 { return 7 }, false},
		{"FoliotCallbacksRescued", "foliot_callbacks_rescued_total", func(m int) float64 { return float64(m / (minutes - 2)) }, true},
		{"FoliotCallbacksRescued", "foliot_callbacks_rescued_total", func(int) float64 { return 7 }, false},
		{"FoliotCallbacksWaitForPool", "foliot_callbacks_handed", func(int) float64 { return 500 }, true},
		{"FoliotCallbacksWaitForPool", "foliot_callbacks_handed", func(m int) float64 { return float64(m % 2 * 500) }, false},
		{"FoliotTimersLeak", "foliot_timers_allocated", func(m int) float64 { return float64(100 * m) }, true},
		{"FoliotTimersLeak", "foliot_timers_allocated", func(m int) float64 { return float64(1000 + m) }, false},
		{"FoliotTimersLeak", "foliot_timers_allocated", func(m int) float64 { return float64(m % 2 * 1_000_000) }, false},
		{"FoliotQueueGrows", "foliot_queue_values", func(m int) float64 { return float64(100 * m) }, true},
		{"FoliotQueueGrows", "foliot_queue_values", func(m int) float64 { return float64(m) }, false},
	} {
		s := newServer(t, forms["both"])
		var now time.Time
		for m := range minutes {
			now = start.Add(time.Duration(m) * time.Minute)
			s.memory.append(withInstance(labels.FromStrings("__name__", tt.series)), point{at: now.UnixMilli(), f: tt.value(m)})
		}
		rules := loadAlerts(t)
		i := slices.IndexFunc(rules, func(r rulefmt.Rule) bool { return r.Alert == tt.alert })
		if got := len(s.query(t, rules[i].Expr, now)) > 0; got != tt.want {
			t.Errorf("%s with %s up to %v: %v, want %v", tt.alert, tt.series, tt.value(minutes-1), got, tt.want)
		}
	}
}

// With so much slack, timers are late.
func TestLateTimersRaiseAnAlertInEachForm(t *testing.T) {
	rules := loadAlerts(t)
	if rules[0].Alert != "FoliotTimersLate" {
		t.Fatal(rules[0].Alert)
	}
	rt, err := foliot.New(foliot.Options{Slack: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Shutdown(context.Background())
	url := serve(t, prometheus.NewCollector(rt, nil))
	for form, options := range forms {
		s := newServer(t, options)
		s.scrape(t, url, start)
		for before := rt.Stats().Late; rt.Stats().Late.Sub(before).Quantile(0.99) < 60*time.Millisecond; {
			work(t, rt, 20)
		}
		s.scrape(t, url, start.Add(time.Minute))
		if v := s.query(t, rules[0].Expr, start.Add(time.Minute)); len(v) != 1 || v[0].F < 0.05 {
			t.Errorf("%s: %v", form, v)
		}
	}
}
