package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/lab/bench/internal/catalog"
)

const sampleRun = `goos: linux
goarch: amd64
cpu: Test CPU
go: go1.26
gomaxprocs: 2
# commit: abc
# date: 2026-01-02
# mode: quick
# rounds: 3
Unit x-std better=higher

BenchmarkArmAndStop/contender=std/n=100-2 1 170 cpu-ns/op 180 ns/op
BenchmarkArmAndStop/contender=foliot/n=100-2 1 70 cpu-ns/op 71 ns/op 2.4 x-std
BenchmarkArmAndStop/contender=std/n=100-2 1 160 cpu-ns/op 170 ns/op
BenchmarkArmAndStop/contender=foliot/n=100-2 1 80 cpu-ns/op 81 ns/op 2.0 x-std
BenchmarkArmAndStop/contender=std/n=100-2 1 150 cpu-ns/op 160 ns/op
BenchmarkArmAndStop/contender=foliot/n=100-2 1 72 cpu-ns/op 73 ns/op 2.1 x-std
BenchmarkArmAndStop/contender=std/n=2000-2 1 1500 cpu-ns/op
BenchmarkArmAndStop/contender=foliot/n=2000-2 1 90 cpu-ns/op 16.7 x-std
BenchmarkSparseTimer/contender=std-2 1 605000 p50-late-ns 1100000 p99-late-ns
BenchmarkSparseTimer/contender=foliot-2 1 107000 p50-late-ns 271000 p99-late-ns 5.7 x-std
BenchmarkLoopSoon/contender=channel-2 1 30000000 op/s
BenchmarkLoopSoon/contender=loop-2 1 120000000 op/s 4 x-channel
BenchmarkTimerMemory/contender=std/n=100-2 1 128 B/timer
BenchmarkTimerMemory/contender=foliot/n=100-2 1 37.4 B/timer 3.4 x-std
`

func readSample(t *testing.T, text string) *data {
	t.Helper()
	d, err := read(strings.NewReader(text), "sample")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestFigureMarks(t *testing.T) {
	d := readSample(t, sampleRun)
	for mark, want := range map[string]string{
		"arm-and-stop/n=100/foliot/x-std":      "2.1x",
		"arm-and-stop/n=100/std/cpu-ns/op":     "160 ns",
		"arm-and-stop/n=2000/std/cpu-ns/op":    "1.5 µs",
		"sparse-timer/foliot/p50-late-ns":      "107 µs",
		"loop-soon/loop/op/s":                  "120 M/s",
		"timer-memory/foliot/B/timer":          "37.4 B",
		"timer-memory/n=100/foliot/x-std":      "3.4x",
		"steady-cpu/rate=100/std/cpu-%":        "stays", // not measured
		"arm-and-stop/n=7/foliot/x-std":        "stays", // nor that number of timers
		"arm-and-stop/n=100/precise/cpu-ns/op": "stays", // nor that contender
		"arm-and-halt/foliot/x-std":            "error", // there is no such benchmark
		"arm-and-stop/rocket/x-std":            "error", // nor such a contender
		"arm-and-stop/n=100/foliot/miles/hour": "error", // nor such a unit
		"arm-and-stop/foliot/x-std":            "error", // there are two of that name
		"timer-memory/foliot":                  "error", // a unit is missing
	} {
		page := "| a | <!-- fig " + mark + " -->stays<!-- /fig --> and <!-- fig timer-memory/std/B/timer -->?<!-- /fig --> |\n"
		got, missing, err := d.fill(page)
		switch {
		case want == "error":
			if err == nil || !strings.Contains(err.Error(), mark) {
				t.Errorf("%s: error %v, want one that names the mark", mark, err)
			}
		case err != nil:
			t.Errorf("%s: %v", mark, err)
		case got != "| a | <!-- fig "+mark+" -->"+want+"<!-- /fig --> and <!-- fig timer-memory/std/B/timer -->128 B<!-- /fig --> |\n":
			t.Errorf("%s: %s, want %s", mark, got, want)
		case (len(missing) == 1) != (want == "stays"):
			t.Errorf("%s: missing %v", mark, missing)
		}
	}
	for _, page := range []string{"<!-- fig loop-soon/loop/op/s -->", "text <!-- /fig -->", "<!-- figures:worse -->\n"} {
		if _, _, err := d.fill(page); err == nil {
			t.Errorf("%q: no error, want one about a mark without an end", page)
		}
	}
}

func TestBlocks(t *testing.T) {
	d := readSample(t, sampleRun)
	page := "a\n<!-- figures:arm-and-stop,sparse-timer:p99-late-ns -->\nold\n<!-- /figures -->\nb\n<!-- figures:arm-and-stop/n=100 -->\n<!-- /figures -->\n"
	want := `a
<!-- figures:arm-and-stop,sparse-timer:p99-late-ns -->
| | std | foliot |
|---|---:|---:|
| arm and stop, 100 timers | 160 ns | 72.0 ns [2.1x, 2.0 to 2.4] |
| arm and stop, 2,000 timers | 1.5 µs | 90.0 ns [16.7x] |
| one timer of 50 µs to 20 ms, p99 | 1.1 ms | 271 µs |
<!-- /figures -->
b
<!-- figures:arm-and-stop/n=100 -->
| | std | foliot |
|---|---:|---:|
| arm and stop, 100 timers | 160 ns | 72.0 ns [2.1x, 2.0 to 2.4] |
<!-- /figures -->
`
	got, missing, err := d.fill(page)
	if err != nil || len(missing) > 0 || got != want {
		t.Errorf("%s\nmissing %v, error %v; want\n%s", got, missing, err, want)
	}
	if again, _, _ := d.fill(got); again != got {
		t.Errorf("filled twice:\n%s", again)
	}
	// A table stays if one of its benchmarks was not measured, and so do blocks about the whole run.
	page = "<!-- figures:arm-and-stop,steady-cpu -->\nold\n<!-- /figures -->\n<!-- figures:worse -->\nold\n<!-- /figures -->\n<!-- figures:environment -->\nold\n<!-- /figures -->\n"
	if got, missing, err := d.fill(page); err != nil || got != page || len(missing) != 3 {
		t.Errorf("%s\nmissing %v, error %v", got, missing, err)
	}
	if _, _, err := d.fill("<!-- figures:no-such-table -->\n<!-- /figures -->"); err == nil {
		t.Error("no error for a block that is not in the catalog")
	}
}

// completeRun has all benchmarks that are compared with the standard library.
func completeRun() string {
	var b strings.Builder
	for _, s := range catalog.Scenarios {
		for _, m := range s.Benchmarks {
			if isStandard(m.Base) && !strings.Contains(sampleRun, "Benchmark"+catalog.CamelCase(m.Name)+"/") {
				for i, key := range []string{"n=1000", "n=10000"} {
					fmt.Fprintf(&b, "Benchmark%s/contender=%s/%s-2 1 100 %s\n", catalog.CamelCase(m.Name), m.Base, key, m.Unit)
					for _, c := range []string{"foliot", "drop-in", "tasks", "queue", "loop", "wheel"} {
						fmt.Fprintf(&b, "Benchmark%s/contender=%s/%s-2 1 %d %s %d x-%s\n", catalog.CamelCase(m.Name), c, key, 50+i, m.Unit, 2+i, m.Base)
					}
				}
			}
		}
	}
	return sampleRun + b.String()
}

func TestWorse(t *testing.T) {
	run := completeRun() + `BenchmarkResetLater/contender=drop-in/n=7-2 1 300 cpu-ns/op 0.5 x-std
BenchmarkResetLater/contender=std/n=7-2 1 150 cpu-ns/op
BenchmarkResetLater/contender=precise/n=7-2 1 300 cpu-ns/op 0.4 x-std
BenchmarkResetLater/contender=heap/n=7-2 1 300 cpu-ns/op 0.1 x-std
BenchmarkResetHot/contender=foliot/n=7-2 1 300 cpu-ns/op 0.8 x-std
BenchmarkResetHot/contender=foliot/n=7-2 1 300 cpu-ns/op 1.1 x-std
BenchmarkDurableOpen/contender=durable/n=7-2 1 300 ns 0.2 x-pebble
`
	got, err := readSample(t, run).block("worse")
	want := "- `reset-later`: push the deadline of a random timer back, 7 timers: drop-in 300 ns, std 150 ns [0.50x]\n"
	if err != nil || strings.Count(got, "\n- ") != 1 || !strings.HasSuffix(got, want) || !strings.Contains(got, "1 of ") || !strings.Contains(got, ". 1 more") {
		t.Errorf("%s%v, want one figure and one price:\n%s", got, err, want)
	}
	env, err := readSample(t, run).block("environment")
	if want := "go1.26, linux/amd64, GOMAXPROCS=2, Test CPU. Commit abc, quick run of 2026-01-02, medians of up to 3 rounds.\n"; err != nil || env != want {
		t.Errorf("environment %q, %v, want %q", env, err, want)
	}
}

func TestPlots(t *testing.T) {
	folder := t.TempDir()
	run := completeRun()
	for _, rate := range []int{100, 1000} {
		for _, name := range []string{"SteadyCpu", "SteadyLate"} {
			unit := map[string]string{"SteadyCpu": "cpu-%", "SteadyLate": "p50-late-ns"}[name]
			run += fmt.Sprintf("Benchmark%s/contender=std/rate=%d-2 1 5 %s\n", name, rate, unit)
		}
	}
	if err := readSample(t, run).draw(folder, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, p := range pictures {
		text, err := os.ReadFile(filepath.Join(folder, p.file))
		if err != nil {
			t.Error(err)
			continue
		}
		for d := xml.NewDecoder(bytes.NewReader(text)); err == nil; {
			_, err = d.Token()
		}
		if !errors.Is(err, io.EOF) || !bytes.Contains(text, []byte("std")) && !bytes.Contains(text, []byte("standard library")) {
			t.Errorf("%s: %v\n%s", p.file, err, text)
		}
	}
	var said bytes.Buffer
	if err := readSample(t, "BenchmarkIdle/contender=std-2 1 5 cpu-%\n").draw(t.TempDir(), &said); err != nil || strings.Count(said.String(), "was not measured") != len(pictures) {
		t.Errorf("%v, %s", err, said.String())
	}
}

func TestCommand(t *testing.T) {
	folder := t.TempDir()
	file, page := filepath.Join(folder, "bench.txt"), filepath.Join(folder, "page.md")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(file, sampleRun)
	write(page, "<!-- fig loop-soon/loop/x-channel -->?<!-- /fig -->, <!-- fig serve-put/serve/op/s -->7<!-- /fig -->\n")
	var stderr bytes.Buffer
	if status := command([]string{file, page}, &stderr); status != 0 || !strings.Contains(stderr.String(), "serve-put/serve/op/s was not measured") {
		t.Errorf("status %d, %s", status, stderr.String())
	}
	if got, _ := os.ReadFile(page); !strings.Contains(string(got), "-->4.0x<!-- /fig -->") || !strings.Contains(string(got), "-->7<!--") {
		t.Errorf("page: %s", got)
	}
	for status, args := range map[int][]string{1: {file, filepath.Join(folder, "none.md")}, 2: {file}} {
		if got := command(args, io.Discard); got != status {
			t.Errorf("figures %v: status %d, want %d", args, got, status)
		}
	}
	write(file, "no benchmarks\n")
	if got := command([]string{file, page}, io.Discard); got != 1 {
		t.Errorf("an empty run: status %d, want 1", got)
	}
}

// Whatever the pages name is in the catalog: nothing of it is measured here.
func TestMarksOfPages(t *testing.T) {
	for _, page := range []string{"../../../README.md", "../../../docs/benchmarks.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		got, missing, err := new(data).fill(string(text))
		if err != nil || got != string(text) || len(missing) < 5 {
			t.Errorf("%s: %v; %d marks", page, err, len(missing))
		}
	}
}
