package report

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/bench"
)

// sample returns a report with made-up figures. It says so where a real report names the processor.
func sample(t testing.TB) *bench.Report {
	t.Helper()
	text, err := os.ReadFile("testdata/sample.json")
	if err != nil {
		t.Fatal(err)
	}
	r := new(bench.Report)
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Environment.CPU, "nothing here was measured") {
		t.Fatal("the sample does not say that it is made up")
	}
	return r
}

// render returns the page.
func render(t testing.TB, r *bench.Report) string {
	t.Helper()
	var b strings.Builder
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// picture returns one picture as a file.
func picture(t testing.TB, r *bench.Report, p Picture) string {
	t.Helper()
	var b strings.Builder
	if err := SVG(&b, r, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
