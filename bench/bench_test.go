package bench

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

func TestRunMeasuresEverythingWithBothContenders(t *testing.T) {
	var told []string
	r, err := Run(context.Background(), Options{Timers: 2000, Rounds: 3, Full: true, Progress: func(s string) { told = append(told, s) }})
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * len(measurements); len(told) != want {
		t.Errorf("progress was told %d times, want %d", len(told), want)
	}
	sizes := map[int]int{}
	for _, row := range r.Results {
		sizes[row.Timers]++
		if row.Wheel.Median <= 0 || row.Wheel.Min > row.Wheel.Median || row.Wheel.Median > row.Wheel.Max {
			t.Errorf("%s: wheel %+v", row.Name, row.Wheel)
		}
		if row.Ratio != (Spread{}) && (row.Ratio.Median <= 0 || row.Std.Median <= 0) {
			t.Errorf("%s: ratio %+v beside std %+v", row.Name, row.Ratio, row.Std)
		}
	}
	if sizes[2000] == 0 || sizes[2000] != sizes[20000] {
		t.Errorf("results by size: %v", sizes)
	}
	var table, markdown bytes.Buffer
	if err := errors.Join(r.Table(&table), r.Markdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Results {
		if !strings.Contains(table.String(), row.Name) || !strings.Contains(markdown.String(), "| "+row.Name+" |") {
			t.Errorf("a table lacks %q", row.Name)
		}
	}
}

func TestRunStopsWhenItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r, err := Run(ctx, Options{Timers: 1000, Rounds: 1, Progress: func(string) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if len(r.Results) != 0 {
		t.Errorf("%d results of what was not measured", len(r.Results))
	}
}

func TestRunRefusesNegativeSizes(t *testing.T) {
	for _, o := range []Options{{Timers: -1}, {Rounds: -1}} {
		if _, err := Run(context.Background(), o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
