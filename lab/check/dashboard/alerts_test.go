package dashboard

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// A rule is a rule of alerts.yaml.
type rule struct {
	Alert, Expr         string
	For                 model.Duration
	Labels, Annotations map[string]string
}

func loadAlerts(t *testing.T) []rule {
	t.Helper()
	data, err := os.ReadFile("../../../prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil || len(file.Groups) != 1 {
		t.Fatalf("alerts.yaml has %d groups, want 1 (%v)", len(file.Groups), err)
	}
	return file.Groups[0].Rules
}

func TestAlertsUseExistingMetrics(t *testing.T) {
	metrics := exported(t)
	for _, r := range loadAlerts(t) {
		for _, s := range selectors(t, r.Expr) {
			if metricOf(s.Name, metrics) == "" {
				t.Errorf("%s: there is no metric %q", r.Alert, s.Name)
			}
		}
		if r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
			t.Errorf("%s has no summary or no severity", r.Alert)
		}
	}
}

func TestPageListsAlerts(t *testing.T) {
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
	for _, r := range loadAlerts(t) {
		want = append(want, r.Alert)
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/metrics.md has the alerts %v, want %v", got, want)
	}
}
