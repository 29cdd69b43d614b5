package prometheus

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// table returns the rows of a table of docs/metrics.md. It skips the test where the page is missing, as in
// the module cache.
func table(t *testing.T, header string) []string {
	t.Helper()
	page, err := os.ReadFile("../docs/metrics.md")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("this is not a checkout of the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), header+"\n")
	if !ok {
		t.Fatalf("docs/metrics.md has no table %s", header)
	}
	text, _, _ := strings.Cut(rest, "\n\n")
	return strings.Split(text, "\n")[1:]
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("docs/metrics.md has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestThePageListsTheMetrics(t *testing.T) {
	var want []string
	for _, m := range scalars {
		kind := "gauge"
		if m.kind == counter {
			kind = "counter"
		}
		want = append(want, fmt.Sprintf("| `%s` | %s | `%s` | %s |", m.name, kind, m.field, strings.TrimSuffix(m.help, ".")))
	}
	for _, m := range workerGauges {
		want = append(want, fmt.Sprintf("| `%s` | gauge | `PerWorker.%s` | %s |", m.name, m.field, strings.TrimSuffix(m.help, ".")))
	}
	for _, m := range histograms {
		want = append(want, fmt.Sprintf("| `%s` | histogram | `%s` | %s |", m.name, m.field, strings.TrimSuffix(m.help, ".")))
	}
	want = append(want, "| `foliot_build_info` | gauge | | "+strings.TrimSuffix(buildHelp, ".")+" |")
	compare(t, table(t, "| metric | type | of `Stats` | what |"), want)
}

func TestThePageListsWhatIsLeftOut(t *testing.T) {
	var want []string
	for _, field := range slices.Sorted(maps.Keys(leftOut)) {
		want = append(want, fmt.Sprintf("| `%s` | %s |", field, leftOut[field]))
	}
	compare(t, table(t, "| left out | because |"), want)
}

func TestThePageListsTheBounds(t *testing.T) {
	var want []string
	for _, m := range histograms {
		var les []string
		for _, b := range m.bounds {
			les = append(les, fmt.Sprint(b.Seconds()))
		}
		want = append(want, fmt.Sprintf("| `%s` | %s |", m.name, strings.Join(les, ", ")))
	}
	compare(t, table(t, "| histogram | bounds in seconds |"), want)
}
