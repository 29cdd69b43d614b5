package bench

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"strings"
	"testing"
)

func TestRunMeasuresEverythingWithBothContenders(t *testing.T) {
	var told []string
	r, err := Run(context.Background(), Options{Timers: 1000, Rounds: 1, Progress: func(s string) { told = append(told, s) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(told) != len(measurements) {
		t.Errorf("progress was told %d times, want %d: %q", len(told), len(measurements), told)
	}
	seen := map[string]int{}
	for _, row := range r.Results {
		seen[row.Part]++
		for _, s := range []Spread{row.Std, row.Foliot, row.List, row.Ratio, row.StdWall, row.FoliotWall, row.RatioWall} {
			if !sound(s, mayBeZero(row)) {
				t.Errorf("%s, %s: %+v", row.Group, row.Name, row)
				break
			}
		}
		if row.Foliot.none() || !row.Ratio.none() && row.Std.none() {
			t.Errorf("%s, %s: not measured: %+v", row.Group, row.Name, row)
		}
		if strings.HasPrefix(row.Name, "fired early") && row.Foliot.Max != 0 {
			t.Errorf("%s: Foliot fired timers early: %v", row.Group, row.Foliot.Max)
		}
	}
	if seen[Wheel] == 0 || seen[Runtime] == 0 || seen[Tasks] == 0 || len(seen) != 3 {
		t.Errorf("results by part: %v", seen)
	}
	var table, markdown bytes.Buffer
	if err := errors.Join(r.Table(&table), r.Markdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Results {
		if !strings.Contains(table.String(), row.Name) || !strings.Contains(markdown.String(), "| "+row.Name+" |") {
			t.Errorf("a table lacks %q", row.Name)
		}
		if !strings.Contains(table.String(), row.Group) || !strings.Contains(markdown.String(), "| "+row.Group+" |") {
			t.Errorf("a table lacks the head %q", row.Group)
		}
	}
}

// mayBeZero tells of which lines zero is a figure like any other.
func mayBeZero(row Result) bool {
	return row.Unit == "" || row.Unit == "%" || strings.Contains(row.Name, "garbage collection")
}

// sound tells whether figures are numbers, in order, and positive unless they may be
// zero. What was not measured is sound.
func sound(s Spread, zero bool) bool {
	if s.none() {
		return s == Spread{}
	}
	least := math.SmallestNonzeroFloat64
	if zero {
		least = 0
	}
	return s.Min >= least && s.Min <= s.Median && s.Median <= s.Max && !math.IsInf(s.Max, 0)
}

func TestEveryGroupOfResultsIsOneTable(t *testing.T) {
	one := exactly(1)
	r := Report{Results: []Result{
		{Part: Wheel, Group: "5 timers", Name: "a", Unit: "ns", Foliot: one},
		{Part: Wheel, Group: "5 timers", Name: "b", Unit: "ns", Std: exactly(0.5), Foliot: one, Ratio: exactly(0.5)},
		{Part: Runtime, Group: "5 timers", Name: "c", Unit: "ns", Std: one, Foliot: one, Ratio: spread([]float64{3, 1, 2}), StdWall: one, FoliotWall: exactly(123.4)},
		{Part: Runtime, Group: "idle", Name: "d", Unit: "%", Std: one, Foliot: exactly(0)},
		{Part: Runtime, Group: "idle", Name: "e", Std: one, Foliot: exactly(0)},
		{Part: Tasks, Group: "wake", Name: "f", Unit: "ns", Against: "goroutines", Std: one, Foliot: one},
	}}
	var out strings.Builder
	if err := r.Markdown(&out); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(out.String(), "\n\n")
	want := strings.TrimPrefix(`
| 5 timers | `+"`time.AfterFunc`"+` | wheel | (as lists) | ratio |
|---|---:|---:|---:|---:|
| a | - | 1.0 ns | - | - |
| b | 0.5 ns | 1.0 ns | - | 0.5x |

| 5 timers | CPU: `+"`time.AfterFunc`"+` | foliot | ratio | wall: `+"`time.AfterFunc`"+` | foliot |
|---|---:|---:|---:|---:|---:|
| c | 1.0 ns | 1.0 ns | 2.0x [1.0 to 3.0] | 1.0 ns | 123 ns |

| idle | `+"`time.AfterFunc`"+` | foliot | ratio |
|---|---:|---:|---:|
| d | 1.0 % | 0.0 % | - |
| e | 1.0 | 0.0 | - |

| wake | goroutines | foliot | ratio |
|---|---:|---:|---:|
| f | 1.0 ns | 1.0 ns | - |
`, "\n")
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestOnlyOnePartIsMeasuredOnRequest(t *testing.T) {
	for _, part := range parts {
		tasks := Options{Only: part, Timers: 1}.plan()
		if len(tasks) == 0 {
			t.Errorf("nothing to measure of the %s", part)
		}
		for _, task := range tasks {
			if task.part != part {
				t.Errorf("%s is measured with only the %s asked for", task.title(), part)
			}
		}
	}
	if _, err := Run(context.Background(), Options{Only: "watch"}); err == nil {
		t.Error("a part that does not exist: no error")
	}
}

func TestAFullRunMeasuresWithTenTimesAsManyTimersToo(t *testing.T) {
	for _, m := range measurements {
		sizes := map[int]int{}
		for _, task := range (Options{Timers: 70, Full: true}).plan() {
			if task.part == m.part && task.what == m.what {
				sizes[task.timers]++
			}
		}
		n := 70
		if m.tenth {
			n = 7
		}
		want := map[int]int{n: 1}
		if m.scales {
			want[10*n] = 1
		}
		if !maps.Equal(sizes, want) {
			t.Errorf("%s, %s: measured so many times by size: %v, want %v", m.part, m.what, sizes, want)
		}
	}
}

func TestWhatLeavesTracesIsMeasuredLast(t *testing.T) {
	messy := false
	for _, task := range (Options{Timers: 7, Full: true}).plan() {
		if messy && !task.messy {
			t.Errorf("%s is measured after something that leaves traces", task.title())
		}
		messy = task.messy
	}
	if !messy {
		t.Error("nothing leaves traces")
	}
}

func TestRunStopsWhenItsContextEnds(t *testing.T) {
	for _, part := range parts {
		ctx, cancel := context.WithCancel(context.Background())
		r, err := Run(ctx, Options{Only: part, Timers: 1000, Rounds: 1, Progress: func(string) { cancel() }})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want that of the context", part, err)
		}
		if len(r.Results) != 0 {
			t.Errorf("%s: %d results of what was not measured", part, len(r.Results))
		}
	}
}

func TestAnInterruptedMeasurementReportsNothingThatItDidNotMeasure(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, m := range measurements {
		rows, err := m.run(ctx, Options{Rounds: 1}, 100)
		if err != nil {
			t.Errorf("%s: %v", m.what, err)
		}
		for _, row := range rows {
			if !row.Foliot.none() {
				t.Errorf("%s: %+v", m.what, row)
			}
		}
	}
}

func TestRunRefusesNegativeSizes(t *testing.T) {
	for _, o := range []Options{{Timers: -1}, {Rounds: -1}} {
		if _, err := Run(context.Background(), o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
