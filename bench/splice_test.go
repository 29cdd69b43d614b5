package bench

import (
	"strings"
	"testing"
)

func TestSpliceReplacesWhatIsBetweenMarksAndNothingElse(t *testing.T) {
	r := mixed()
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

func TestMarksThatCannotBeFollowedAreErrorsWithTheirLine(t *testing.T) {
	for page, want := range map[string]string{
		"\n<!-- figures:nothing -->\n<!-- /figures -->":             `line 2: the report has no scenario "nothing"`,
		"<!-- figures:s -->\n":                                      "no end of figures",
		"<!-- /figures -->\n":                                       "line 1: an end of figures without a beginning",
		"<!-- figures:s -->\n<!-- figures:s -->\n<!-- /figures -->": "line 2: figures of",
		"<!-- figures:s colour=red -->\n<!-- /figures -->":          "not understood",
		"<!-- figures:s timers=many -->\n<!-- /figures -->":         "no number of timers",
		"<!-- figures:s contenders=nobody -->\n<!-- /figures -->":   "selects nothing",
		"<!-- figures:s":                       "no mark for figures",
		"<!-- figures: -->\n<!-- /figures -->": "no mark for figures",
	} {
		if _, err := Splice([]byte(page), mixed()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", page, err, want)
		}
	}
}
