package look

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

// The same cases hold for number.js, which a test in a browser checks.
func TestNumbersAreWrittenAsTheCasesSay(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases map[string][][]any
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	functions := map[string]func(args []any) any{
		"number":    func(args []any) any { return Number(args[0].(float64)) },
		"count":     func(args []any) any { return Count(args[0].(float64)) },
		"axisLabel": func(args []any) any { return AxisLabel(args[0].(float64), args[1].(string)) },
		"step":      func(args []any) any { return RoundOff(Step(args[0].(float64), int(args[1].(float64)))) },
	}
	if len(cases) != len(functions) {
		t.Fatalf("there are cases of %d functions, want %d", len(cases), len(functions))
	}
	for name, f := range functions {
		for _, c := range cases[name] {
			got, want := f(c[:len(c)-1]), c[len(c)-1]
			if text, ok := got.(string); ok {
				got = strings.ReplaceAll(text, NBSP, " ")
			}
			if got != want {
				t.Errorf("%s%v = %v, want %v", name, c[:len(c)-1], got, want)
			}
		}
	}
}

func TestWhatIsNotANumberIsADash(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := Quantity(v, "ms"); got != NoFigure {
			t.Errorf("Quantity(%v) = %q, want %q", v, got, NoFigure)
		}
	}
}

// The colours are named once for each of the two schemes.
func TestBothColourSchemesHaveTheSameColours(t *testing.T) {
	light, dark, ok := strings.Cut(PaletteCSS, "prefers-color-scheme: dark")
	if !ok {
		t.Fatal("the palette has no dark colours")
	}
	names := func(css string) (all []string) {
		for line := range strings.Lines(css) {
			if name, _, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && strings.HasPrefix(name, "--") {
				all = append(all, name)
			}
		}
		return all
	}
	if l, d := strings.Join(names(light), " "), strings.Join(names(dark), " "); l != d || l == "" {
		t.Errorf("light: %s\ndark:  %s", l, d)
	}
}
