package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/lab/bench/internal/catalog"
)

// Scenario serve starts this program as its bare server.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-bare-server") {
		main()
	}
	os.Exit(m.Run())
}

// parse returns the lines of a run, and fails the test if one is not in Go's benchmark format.
func parse(t *testing.T, text string) (lines []*benchfmt.Result) {
	t.Helper()
	r := benchfmt.NewReader(strings.NewReader(text), "run")
	for r.Scan() {
		switch line := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Fatal(line)
		case *benchfmt.Result:
			lines = append(lines, line.Clone())
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return lines
}

// keyOf returns a part of a name, such as contender.
func keyOf(line *benchfmt.Result, key string) string {
	_, parts := line.Name.Parts()
	for _, p := range parts {
		if v, ok := strings.CutPrefix(string(p), "/"+key+"="); ok {
			return v
		}
	}
	return ""
}

// slow are scenarios that take more than a few seconds even with few timers, or start processes.
var slow = []string{"cluster", "serve", "periodic", "loop", "short-ticks", "ttl-cache", "wheel", "durable"}

func TestScenarios(t *testing.T) {
	for _, s := range catalog.Scenarios {
		t.Run(s.Name, func(t *testing.T) {
			if testing.Short() && slices.Contains(slow, s.Name) {
				t.Skip("slow")
			}
			if s.Servers {
				testkit.OnlyInFull(t, "a scenario with servers, which have suites of their own")
			}
			var out bytes.Buffer
			r := &run{ctx: t.Context(), out: &out, progress: io.Discard, n: 300, rounds: 1, match: regexp.MustCompile("^" + s.Name + "$")}
			r.measure()
			if strings.Contains(out.String(), "# "+s.Name) {
				if s.Servers && strings.Contains(out.String(), "skipped, because") {
					t.Skip(out.String())
				}
				t.Errorf("something was not measured:\n%s", out.String())
			}
			got := map[string]bool{}
			for _, line := range parse(t, out.String()) {
				b, ok := catalog.FromCamelCase(string(line.Name.Base()))
				if !ok {
					t.Errorf("%s is not in the catalog", line.Name)
				}
				if catalog.Rank(keyOf(line, "contender")) < 0 {
					t.Errorf("%s: contender is not in the catalog", line.Name)
				}
				if _, ok := line.Value("early"); ok && keyOf(line, "contender") != "node" {
					if early, _ := line.Value("early"); early > 0 {
						t.Errorf("%s: %v timers fired early", line.Name, early)
					}
				}
				got[b.Name] = true
			}
			for _, b := range s.Benchmarks {
				if !got[b.Name] {
					t.Errorf("%s was not measured", b.Name)
				}
			}
		})
	}
}

func TestTurns(t *testing.T) {
	var out bytes.Buffer
	r := &run{ctx: t.Context(), out: &out, progress: io.Discard, scenario: "loop"}
	var order []string
	values := map[string][]float64{"std": {100, 300}, "foliot": {50, 100}, "heap": {400, 0}, "drop-in": {0, 0}}
	all := enter(r, []maker[int]{{"std", always(0)}, {"foliot", always(0)}, {"heap", always(0)}, {"drop-in", always(0)}})
	turns(r, 2, all, func(round int, e *entrant[int]) ([]result, error) {
		order = append(order, e.name)
		switch {
		case e.name == "heap" && round == 0:
			return nil, errUnsupported
		case e.name == "drop-in":
			return nil, errors.New("broken")
		}
		v := values[e.name][round]
		return []result{
			{"arm-and-stop", count(1000), 7, []value{{v, "cpu-ns/op"}}},
			{"loop-register", count(1000), 7, []value{{v, "op/s"}}},
		}, nil
	})
	if want := "std foliot heap drop-in foliot heap std"; strings.Join(order, " ") != want {
		t.Errorf("turns were %v, want %s", order, want)
	}
	if !strings.Contains(out.String(), "# loop/drop-in: broken\n") || strings.Contains(out.String(), "not supported") {
		t.Errorf("notes are wrong:\n%s", out.String())
	}
	got := map[string][]float64{}
	for _, line := range parse(t, out.String()) {
		if keyOf(line, "n") != "1000" || line.Iters != 7 {
			t.Errorf("%s %d, want n=1000 and 7 operations", line.Name, line.Iters)
		}
		if x, ok := line.Value("x-std"); ok {
			if keyOf(line, "contender") == "std" {
				t.Error("the base is compared with itself")
			}
			got[string(line.Name.Base())+" "+keyOf(line, "contender")] = append(got[string(line.Name.Base())+" "+keyOf(line, "contender")], x)
		}
	}
	// Round by round; less is better for time, more for a rate. Nothing is compared with zero.
	if want := []float64{2, 3}; !slices.Equal(got["ArmAndStop foliot"], want) {
		t.Errorf("x-std of time = %v, want %v", got["ArmAndStop foliot"], want)
	}
	if want := []float64{0.5, 0.3333}; !slices.Equal(got["LoopRegister foliot"], want) {
		t.Errorf("x-std of a rate = %v, want %v", got["LoopRegister foliot"], want)
	}
	if len(got) != 2 {
		t.Errorf("compared: %v, want foliot only", got)
	}
}

func TestTurnsAfterInterrupt(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	var out bytes.Buffer
	r := &run{ctx: ctx, out: &out, progress: io.Discard}
	turns(r, 5, enter(r, []maker[int]{{"std", always(0)}, {"foliot", always(0)}}), func(round int, e *entrant[int]) ([]result, error) {
		if round == 1 {
			interrupt()
		}
		return []result{{"idle", "", 1, []value{{1, "cpu-%"}}}}, nil
	})
	if got := len(parse(t, out.String())); got != 2 {
		t.Errorf("%d lines, want the two of the complete round", got)
	}
}

func TestCost(t *testing.T) {
	r := &run{ctx: t.Context(), out: io.Discard, progress: io.Discard}
	e := enter(r, []maker[int]{{"std", always(0)}})[0]
	cleaned := 0
	got, err := e.cost(r, work{
		name: "arm-and-stop", most: 1000, per: 10, length: time.Hour,
		do:      func(ops int) int { time.Sleep(time.Microsecond); return 0 },
		cleanup: func(ops int) int { cleaned += ops; return 0 },
	})
	if err != nil || got[0].ops != 10_000 || cleaned < 1000 {
		t.Errorf("%d operations, %d cleaned, %v; want 10000, more than 1000 and no error", got[0].ops, cleaned, err)
	}
	if _, err := e.cost(r, work{name: "x", most: 5, do: func(int) int { return 2 }}); err == nil || err.Error() != "x: 2 of 5 operations failed" {
		t.Errorf("error %v, want that operations failed", err)
	}
}

func TestLateness(t *testing.T) {
	var late []time.Duration
	for i := range 200 {
		late = append(late, time.Duration(199-i))
	}
	late[0] = -5
	got := map[string]float64{}
	for _, v := range lateness(late) {
		got[v.unit] = v.v
	}
	if got["p50-late-ns"] != 99 || got["p99-late-ns"] != 197 || got["max-late-ns"] != 198 || got["early"] != 1 {
		t.Errorf("lateness = %v", got)
	}
	if first := lateness(late[:50]); len(first) != 4 || first[0].unit != "p50-late-ns" {
		t.Errorf("lateness of 50 timers = %v, want no 99th percentile", first)
	}
}

func TestCommand(t *testing.T) {
	for _, tt := range []struct {
		args   string
		status int
		stderr string
	}{
		{"-fast", 2, "flag provided but not defined: -fast"},
		{"growth", 2, `unexpected argument "growth"`},
		{"-n 0", 2, "-n 0: must be 1 to 20000000"},
		{"-n 99999999", 2, "-n 99999999: must be"},
		{"-rounds 0", 2, "-rounds 0: must be at least 1"},
		{"-run no-such-scenario", 2, "no scenario and no benchmark has such a name"},
		{"-run (", 2, "-run: error parsing regexp"},
		{"-contender std,rocket", 2, "-contender rocket: there is no contender of this name"},
		{"-o /no/such/folder/x -run idle", 1, "no such file"},
		{"-h", 0, "x-std is how many times better"},
	} {
		var stdout, stderr bytes.Buffer
		if status := command(t.Context(), strings.Fields(tt.args), &stdout, &stderr); status != tt.status || !strings.Contains(stderr.String(), tt.stderr) || stdout.Len() > 0 {
			t.Errorf("bench %s: status %d, %s%s; want status %d, %s", tt.args, status, stdout.String(), stderr.String(), tt.status, tt.stderr)
		}
	}
	var list bytes.Buffer
	if status := command(t.Context(), []string{"-list"}, &list, io.Discard); status != 0 || !strings.Contains(list.String(), "arm-and-stop") || !strings.Contains(list.String(), "nats-schedule") {
		t.Errorf("-list: status %d\n%s", status, list.String())
	}
}

func TestCommandWritesFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.txt")
	var stdout, stderr bytes.Buffer
	args := []string{"-run", "^arm-and-stop$", "-n", "100", "-rounds", "2", "-contender", "foliot", "-o", file}
	if status := command(t.Context(), args, &stdout, &stderr); status != 0 || stdout.Len() > 0 || !strings.Contains(stderr.String(), "[1/1] requests") {
		t.Fatalf("status %d\n%s%s", status, stdout.String(), stderr.String())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := parse(t, string(text))
	if len(lines) != 8 { // std and foliot, two sizes, two rounds
		t.Fatalf("%d lines, want 8:\n%s", len(lines), text)
	}
	if got := lines[0].GetConfig("gomaxprocs"); got == "" {
		t.Error("gomaxprocs is not in the file")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if status := command(ended, args, &stdout, &stderr); status != 130 {
		t.Errorf("status %d after an interrupt, want 130", status)
	}
}

func TestCatalog(t *testing.T) {
	names := map[string]bool{}
	for _, s := range catalog.Scenarios {
		if scenarioFuncs[s.Name] == nil {
			t.Errorf("scenario %s has no function", s.Name)
		}
		for _, b := range s.Benchmarks {
			if names[b.Name] || b.Unit == "" || b.What == "" {
				t.Errorf("%s is twice in the catalog, or lacks a unit or words", b.Name)
			}
			names[b.Name] = true
			if got, _ := catalog.FromCamelCase(catalog.CamelCase(b.Name)); got != b {
				t.Errorf("%s is %s in a file, which is %s", b.Name, catalog.CamelCase(b.Name), got.Name)
			}
			if b.Base != "" && catalog.Rank(b.Base) < 0 {
				t.Errorf("%s: the base %s is no contender", b.Name, b.Base)
			}
		}
	}
	if len(scenarioFuncs) != len(catalog.Scenarios) {
		t.Errorf("%d functions for %d scenarios", len(scenarioFuncs), len(catalog.Scenarios))
	}
}
