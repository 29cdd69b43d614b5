package bench

import (
	"strings"
	"testing"
)

func TestSpliceReplacesWhatIsBetweenMarksAndNothingElse(t *testing.T) {
	r := mixedReport()
	page := "before\r\n<!-- figures:s contenders=std,foliot measures=took -->\nold\nold\n<!-- /figures -->\n\n" +
		"  <!-- figures:environment -->\n  <!-- /figures -->\nafter, without a newline"
	want := "before\r\n<!-- figures:s contenders=std,foliot measures=took -->\n\n" +
		"| 1,000 timers | standard library | Foliot |\n|---|---:|---:|\n| took | 200 ns | 50.0 ns [4.0x, 3.0 to 5.0] |\n\n" +
		"<!-- /figures -->\n\n  <!-- figures:environment -->\n\n" + r.Conditions() + "\n\n  <!-- /figures -->\nafter, without a newline"
	got, err := Splice([]byte(page), r)
	if err != nil || string(got) != want {
		t.Fatalf("error %v, got:\n%s\nwant:\n%s", err, got, want)
	}
	again, err := Splice(got, r)
	if err != nil || string(again) != want {
		t.Errorf("error %v, the second time it is:\n%s", err, again)
	}
}

func TestAMarkWithoutASelectionHasTheSentenceOfTheScenario(t *testing.T) {
	r := mixedReport()
	want := "<!-- figures:s -->\n\nWhat it is.\n\n" + r.Scenarios[0].Markdown(r, Selection{}) + "\n<!-- /figures -->\n"
	got, err := Splice([]byte("<!-- figures:s -->\n<!-- /figures -->\n"), r)
	if err != nil || string(got) != want {
		t.Errorf("error %v, got:\n%s\nwant:\n%s", err, got, want)
	}
}

func TestInvalidMarksAreErrorsWithTheirLine(t *testing.T) {
	for page, want := range map[string]string{
		"\n<!-- figures:nothing -->\n<!-- /figures -->":             `line 2: the report has no scenario "nothing"`,
		"<!-- figures:s -->\n":                                      "has no <!-- /figures --> after it",
		"<!-- /figures -->\n":                                       "line 1: <!-- /figures --> without a beginning",
		"<!-- figures:s -->\n<!-- figures:s -->\n<!-- /figures -->": "line 2: mark <!-- figures:s --> inside mark",
		"<!-- figures:s colour=red -->\n<!-- /figures -->":          `unknown word "colour=red"`,
		"<!-- figures:s timers=many -->\n<!-- /figures -->":         "is not a number of timers",
		"<!-- figures:s contenders=nobody -->\n<!-- /figures -->":   "selects nothing",
		"<!-- figures:summary -->\n<!-- /figures -->":               `line 1: the report has no scenario "idle-connections"`,
		"<!-- figures:choice -->\n<!-- /figures -->":                `line 1: the report has no scenario "request-timeouts"`,
		"<!-- figures:worse -->\n<!-- /figures -->":                 "line 1: the report has no comparison with the standard library",
		"<!-- figures:s":                       "is not a valid mark",
		"<!-- figures: -->\n<!-- /figures -->": "is not a valid mark",
	} {
		if _, err := Splice([]byte(page), mixedReport()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", page, err, want)
		}
	}
}
