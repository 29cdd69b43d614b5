package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/bench"
)

// shortRun is a run that measures one scenario and takes almost no time.
var shortRun = []string{"bench", "-n", "100", "-rounds", "1", "-scenario", "wheel-ops"}

func TestBenchPrintsTheTableAndTheProgressSeparately(t *testing.T) {
	out, progress, err := run(t, context.Background(), shortRun...)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "arm and cancel at once") || strings.Contains(out, "[1/1]") {
		t.Errorf("stdout:\n%s", out)
	}
	last := out[strings.LastIndex(out, "\n\n")+1:]
	if !strings.Contains(last, "figures of Foliot that are compared with the standard library") {
		t.Errorf("stdout does not end with the number of figures that are worse:\n%s", out)
	}
	if !strings.Contains(progress, "[1/1] Wheel: arm, cancel, re-arm") || !strings.Contains(progress, ".html") {
		t.Errorf("stderr:\n%s", progress)
	}
	if strings.Contains(out+progress, "\x1b") {
		t.Errorf("colours without a terminal:\n%s%s", out, progress)
	}
}

func TestBenchWritesItsReportToFiles(t *testing.T) {
	dir := t.TempDir()
	page, data := filepath.Join(dir, "bench.html"), filepath.Join(dir, "bench.json")
	out, errs, err := run(t, context.Background(), append(shortRun, "-html", page, "--json", data)...)
	if err != nil || !strings.Contains(out, "arm and cancel at once") || strings.Contains(errs, ".html") {
		t.Fatalf("error %v, stdout:\n%s\nstderr:\n%s", err, out, errs)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "arm and cancel at once") {
		t.Errorf("the page: error %v, %d bytes", err, len(text))
	}
	r, err := readReport(data)
	if err != nil || len(r.Scenarios) != 1 || r.Environment.Timers != 100 {
		t.Fatalf("error %v, report %+v", err, r)
	}

	again, _, err := run(t, context.Background(), "bench", "-from", data)
	if err != nil || again != out {
		t.Errorf("error %v; the report read from the file is:\n%s\nwant:\n%s", err, again, out)
	}
	out, _, err = run(t, context.Background(), "bench", "-compare", data, data)
	if err != nil || !strings.Contains(out, "0 worse, 0 better") {
		t.Errorf("error %v, compared with itself:\n%s", err, out)
	}
}

func TestBenchPrintsJSONAndMarkdown(t *testing.T) {
	out, _, err := run(t, context.Background(), append(shortRun, "-json", "-", "-html", "none")...)
	var r bench.Report
	if err != nil || json.Unmarshal([]byte(out), &r) != nil || len(r.Scenarios) != 1 {
		t.Errorf("error %v, stdout:\n%s", err, out)
	}
	out, errs, err := run(t, context.Background(), append(shortRun, "-markdown", "-html", "none")...)
	if err != nil || !strings.Contains(out, "| arm and cancel at once |") || strings.Contains(errs, ".html") {
		t.Errorf("error %v, stdout:\n%s\nstderr:\n%s", err, out, errs)
	}
}

func TestAnInterruptedBenchPrintsTheFiguresItHas(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	data := filepath.Join(t.TempDir(), "bench.json")
	out, _, err := run(t, ctx, "bench", "-json", data)
	if exitCode(err) != 130 || !strings.Contains(out, "GOMAXPROCS") || !strings.Contains(out, "Interrupted") {
		t.Errorf("error %v, stdout:\n%s", err, out)
	}
	if r, err := readReport(data); err != nil || !r.Interrupted {
		t.Errorf("error %v, report %+v", err, r)
	}
}

func TestFiguresAreSplicedIntoPages(t *testing.T) {
	dir := t.TempDir()
	page, data := filepath.Join(dir, "page.md"), filepath.Join(dir, "bench.json")
	if _, _, err := run(t, context.Background(), append(shortRun, "-json", data, "-html", "none")...); err != nil {
		t.Fatal(err)
	}
	text := "# Title\n<!-- figures:wheel-ops contenders=std,wheel -->\nold\n<!-- /figures -->\nend\n"
	if err := os.WriteFile(page, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time nothing changes
		out, _, err := run(t, context.Background(), "bench", "-from", data, "-splice", page)
		if err != nil || out != "" {
			t.Fatalf("error %v, stdout:\n%s", err, out)
		}
		got, err := os.ReadFile(page)
		if err != nil || strings.Contains(string(got), "old") || strings.Count(string(got), "| arm and cancel at once |") != 1 ||
			!strings.HasPrefix(string(got), "# Title\n<!--") || !strings.HasSuffix(string(got), "<!-- /figures -->\nend\n") {
			t.Errorf("error %v, page:\n%s", err, got)
		}
	}
}

func TestWrongUsageIsAnError(t *testing.T) {
	for _, args := range [][]string{
		{"bench", "-n", "0"},
		{"bench", "-n", "-3"},
		{"bench", "-n", "many"},
		{"bench", "-n", "30000000"},
		{"bench", "-rounds", "0"},
		{"bench", "-scenario", "watch"},
		{"bench", "-contender", "nobody"},
		{"bench", "-no-such-flag"},
		{"bench", "-fast"},
		{"bench", "-quick", "-full"},
		{"bench", "-json", "-", "-markdown"},
		{"bench", "-json", ""},
		{"bench", "-from", "a.json", "-full"},
		{"bench", "-compare", "one.json"},
		{"bench", "-compare", "-full", "a.json", "b.json"},
		{"bench", "-list", "-compare"},
		{"bench", "extra"},
		{"no-such-command"},
	} {
		if _, _, err := run(t, context.Background(), args...); exitCode(err) != 2 {
			t.Errorf("%q: error %v", args, err)
		}
	}
}

func TestUnreadableAndUnwritableFilesAreErrors(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing", "file")
	other := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(other, []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"bench", "-from", missing},
		{"bench", "-from", other},
		{"bench", "-compare", missing, missing},
		append(shortRun, "-json", missing),
		append(shortRun, "-splice", missing),
	} {
		if _, _, err := run(t, context.Background(), args...); exitCode(err) != 1 {
			t.Errorf("%q: error %v", args, err)
		}
	}
}

func TestCompletionKnowsScenariosAndContenders(t *testing.T) {
	for _, c := range []struct{ typed, want, not string }{
		{"-scenario", "growth", "asyncio"},
		{"-contender", "go-zero", "growth"},
	} {
		out, _, err := run(t, context.Background(), "__complete", "bench", "-"+c.typed, "gr,g")
		if err != nil || !strings.Contains(out, c.want) || strings.Contains(out, c.not) {
			t.Errorf("%s: error %v, completions:\n%s", c.typed, err, out)
		}
	}
}

func TestBenchMeasuresTheServerOfThisCommand(t *testing.T) {
	out, _, err := run(t, context.Background(), "bench", "-scenario", "serve", "-n", "100", "-rounds", "1", "-json", "-", "-html", "none")
	var r bench.Report
	if err != nil || json.Unmarshal([]byte(out), &r) != nil || len(r.Scenarios) != 1 || r.Scenarios[0].Error != "" {
		t.Fatalf("error %v, stdout:\n%s", err, out)
	}
	for _, m := range r.Scenarios[0].Measures {
		for _, row := range m.Rows {
			if row.Error != "" || row.Early != 0 {
				t.Errorf("%s, %s: error %q, %d early", m.Name, row.Contender, row.Error, row.Early)
			}
			if m.Main && row.Contender == "serve" && row.Ratio.Rounds == 0 {
				t.Errorf("%s: no ratio to bare net/http", m.Name)
			}
		}
	}
}
