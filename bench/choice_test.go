package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheChoiceHasTheLargestSizeWithARatio(t *testing.T) {
	r := summaryReport()
	grow := &r.Scenarios[0].Measures[0]
	grow.Rows = append(grow.Rows, Row{Contender: "foliot", N: 1_000_000, Value: Spread{80, 80, 80, 3}})
	got, err := r.choice([]choice{
		{"many", "`a`", "grow", "ar", "foliot"},
		{"few", "`b`", "few", "stop", "foliot"},
		{"none", "`c`", "", "", ""},
	})
	want := strings.TrimPrefix(`
| you have | use | measured | standard way | Foliot |
|---|---|---|---:|---:|
| many | `+"`a`"+` | arm, 20,000 | 300 ns | 75.0 ns [4.0x, 3.0 to 5.0] |
| few | `+"`b`"+` | stop | 50.0 ns | 100 ns [0.50x, 0.40 to 1.2] |
| none | `+"`c`"+` | - | - | - |
`, "\n")
	if err != nil || got != want {
		t.Errorf("error %v, got:\n%s\nwant:\n%s", err, got, want)
	}
}

func TestAnIncompleteChoiceIsAnError(t *testing.T) {
	for want, l := range map[string]choice{
		`no scenario "none"`:        {"", "", "none", "arm", "foliot"},
		`no measure "none" of grow`: {"", "", "grow", "none", "foliot"},
		"no ratio of heap":          {"", "", "few", "stop", "heap"},
		`for few, "broken"`:         {"", "", "few", "broken", "foliot"},
		`for few, "no ratio"`:       {"", "", "few", "no ratio", "foliot"},
	} {
		if _, err := summaryReport().choice([]choice{l}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", l, err, want)
		}
	}
}

func TestTheReadmeHasAllChoices(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Skip(err)
	}
	for _, l := range choices {
		if !strings.Contains(string(text), "| "+l.have+" | "+l.use+" | "+l.measure) {
			t.Errorf("the README has no line for %q", l.have)
		}
	}
}
