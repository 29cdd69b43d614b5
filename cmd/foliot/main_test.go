package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/bench"
)

// run executes the command line and returns what it prints.
func run(t *testing.T, ctx context.Context, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&errs)
	err = root.ExecuteContext(ctx)
	return out.String(), errs.String(), err
}

func TestBenchPrintsATableAndProgressApart(t *testing.T) {
	out, progress, err := run(t, context.Background(), "bench", "--timers", "1000", "--rounds", "1", "--only", "wheel")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "arm and cancel at once") || strings.Contains(out, "measuring:") {
		t.Errorf("stdout:\n%s", out)
	}
	if !strings.Contains(progress, "measuring: wheel: fire, 1000 timers") {
		t.Errorf("stderr:\n%s", progress)
	}
}

func TestBenchMeasuresTasksBesideGoroutines(t *testing.T) {
	out, progress, err := run(t, context.Background(), "bench", "--timers", "1000", "--rounds", "1", "--only", "tasks")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "goroutines, time.Sleep") || strings.Contains(out, "(as lists)") {
		t.Errorf("stdout:\n%s", out)
	}
	if !strings.Contains(progress, "measuring: tasks: one tick a second each, 100 of them") {
		t.Errorf("stderr:\n%s", progress)
	}
}

func TestBenchPrintsJSON(t *testing.T) {
	out, _, err := run(t, context.Background(), "bench", "--timers", "1000", "--rounds", "1", "--only", "wheel", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var report bench.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Results) == 0 {
		t.Fatalf("%d results, error %v, from:\n%s", len(report.Results), err, out)
	}
}

func TestBenchPrintsMarkdown(t *testing.T) {
	out, _, err := run(t, context.Background(), "bench", "--timers", "1000", "--rounds", "1", "--markdown")
	if err != nil || !strings.Contains(out, "| arm and cancel at once |") || !strings.Contains(out, "| AfterFunc and Stop |") {
		t.Errorf("error %v, stdout:\n%s", err, out)
	}
}

func TestBenchPrintsWhatItHasWhenInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	out, _, err := run(t, ctx, "bench", "--timers", "1000")
	if exitCode(err) != 130 || !strings.Contains(out, "GOMAXPROCS") {
		t.Errorf("error %v, stdout:\n%s", err, out)
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	for _, args := range [][]string{
		{"bench", "--timers", "0"},
		{"bench", "--rounds", "-3"},
		{"bench", "--timers", "many"},
		{"bench", "--only", "watch"},
		{"bench", "--no-such-flag"},
		{"bench", "--json", "--markdown"},
		{"bench", "extra"},
		{"no-such-command"},
	} {
		if _, _, err := run(t, context.Background(), args...); exitCode(err) != 2 {
			t.Errorf("%q: error %v", args, err)
		}
	}
}
