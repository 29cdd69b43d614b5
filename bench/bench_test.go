package bench

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/bench/internal/list"
	"github.com/foliot-go/foliot/wheel"
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
	for _, row := range r.Results {
		if row.Name == "" {
			t.Error("a result without a name")
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

// To be worth racing against, the other layout must do the same work.
func TestListYieldsWhatWheelYields(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	w, l := wheel.New[uint32](0, 0), list.New[uint32]()
	var handles []wheel.Handle
	var links []uint64
	now := wheel.Tick(0)
	for step := range 200_000 {
		at := now + 1 + wheel.Tick(rng.Uint64N(1<<rng.UintN(24)))
		switch rng.IntN(8) {
		case 0, 1, 2, 3:
			handles = append(handles, w.Schedule(at, uint32(step)))
			links = append(links, l.Schedule(uint64(at), uint32(step)))
		case 4:
			if k := rng.IntN(len(handles) + 1); k < len(handles) {
				_, a := w.Cancel(handles[k])
				if b := l.Cancel(links[k]); a != b {
					t.Fatalf("step %d: Cancel: wheel %t, list %t", step, a, b)
				}
			}
		case 5, 6:
			if k := rng.IntN(len(handles) + 1); k < len(handles) {
				if a, b := w.Reschedule(handles[k], at), l.Reschedule(links[k], uint64(at)); a != b {
					t.Fatalf("step %d: Reschedule: wheel %t, list %t", step, a, b)
				}
			}
		case 7:
			now += wheel.Tick(rng.Uint64N(1 << rng.UintN(16)))
			var a, b []uint32
			for _, v := range w.Advance(now) {
				a = append(a, v)
			}
			l.Advance(uint64(now), func(_ uint64, v uint32) { b = append(b, v) })
			if len(a) != len(b) || w.Len() != l.Len() {
				t.Fatalf("step %d: wheel yields %d of %d, list %d of %d", step, len(a), w.Len(), len(b), l.Len())
			}
			for i := range a {
				if a[i] != b[i] {
					t.Fatalf("step %d: number %d is %d on the wheel, %d on the list", step, i, a[i], b[i])
				}
			}
		}
	}
}
