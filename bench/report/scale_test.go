package report

import (
	"math"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/bench"
	"github.com/foliot-go/foliot/internal/look"
)

func TestTicksAreRoundNumbersAroundTheValues(t *testing.T) {
	log, tail := bench.Axis{Log: true, Unit: "ns"}, bench.Axis{Tail: true}
	for _, tt := range []struct {
		name   string
		axis   bench.Axis
		values []float64
		want   string
	}{
		{"within two powers", log, []float64{19, 240}, "10 ns, 20 ns, 50 ns, 100 ns, 200 ns, 500 ns"},
		{"exactly at powers", log, []float64{10, 100}, "10 ns, 20 ns, 50 ns, 100 ns"},
		{"many powers", log, []float64{30, 4e6}, "100 ns, 1 µs, 10 µs, 100 µs, 1 ms"},
		{"more powers than labels", log, []float64{1, 1e12}, "1 ns, 1 µs, 1 ms, 1 s, 1,000 s"},
		{"one value", log, []float64{100}, "50 ns, 100 ns, 200 ns"},
		{"below one", log, []float64{0.02, 0.3}, "0.02 ns, 0.05 ns, 0.1 ns, 0.2 ns, 0.5 ns"},
		{"numbers of timers", bench.Axis{Log: true}, []float64{1e4, 1e7}, "10 k, 100 k, 1 M, 10 M"},
		{"zero is passed over", log, []float64{0, 10, 100, -5}, "10 ns, 20 ns, 50 ns, 100 ns"},
		{"linear", bench.Axis{Unit: "ms"}, []float64{25, 1475}, "0 ms, 500 ms, 1,000 ms, 1,500 ms"},
		{"linear, below one", bench.Axis{}, []float64{0.1, 0.28}, "0, 0.1, 0.2, 0.3"},
		{"linear, nothing but zero", bench.Axis{}, []float64{0}, "0, 0.2, 0.4, 0.6, 0.8, 1"},
		{"linear, below zero", bench.Axis{}, []float64{-3, 7}, "−4, −2, 0, 2, 4, 6, 8"},
		{"nothing", bench.Axis{}, nil, "0, 0.2, 0.4, 0.6, 0.8, 1"},
		{"nothing that is a number", log, []float64{math.NaN(), math.Inf(1)}, "0.5 ns, 1 ns, 2 ns"},
		{"nines", tail, []float64{0, 0.5, 0.999, 1}, "0%, 50%, 90%, 99%, 99.9%, 100%"},
		{"few nines", tail, []float64{0.5}, "0%, 50%, 90%, 100%"},
		{"endless nines", tail, []float64{1 - 1e-12}, "0%, 50%, 90%, 99%, 99.9%, 99.99%, 99.999%, 99.9999%, 100%"},
	} {
		s := newScale(tt.axis, tt.values, 100, 500, 6)
		var labels []string
		at := math.Inf(-1)
		for _, tick := range s.ticks {
			labels = append(labels, strings.ReplaceAll(tick.label, look.NBSP, " "))
			if tick.at <= at || tick.at < 100-1e-6 || tick.at > 500+1e-6 {
				t.Errorf("%s: a tick at %v, after one at %v", tt.name, tick.at, at)
			}
			at = tick.at
		}
		if got := strings.Join(labels, ", "); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
		for _, v := range tt.values {
			if at := s.place(v); !(at >= 100-1e-6 && at <= 500+1e-6) {
				t.Errorf("%s: %v is at %v", tt.name, v, at)
			}
		}
	}
}

func TestLabelsThatHaveNoRoomAreLeftOut(t *testing.T) {
	ticks := []tick{{0, "first"}, {10, "second"}, {100, "third"}, {190, "fourth"}, {200, "last"}}
	var kept []string
	for _, t := range ticksWithRoom(ticks) {
		kept = append(kept, t.label)
	}
	if got := strings.Join(kept, " "); got != "first third last" {
		t.Errorf("kept %s", got)
	}
}

func TestVerdictNeedsAllRoundsToAgree(t *testing.T) {
	for _, tt := range []struct {
		ratio bench.Spread
		want  string
	}{
		{bench.Spread{Min: 2, Median: 2.54, Max: 3, Rounds: 5}, "2.5× better"},
		{bench.Spread{Min: 0.4, Median: 0.5, Max: 0.6, Rounds: 5}, "2× worse"},
		{bench.Spread{Min: 0.9, Median: 2.5, Max: 3, Rounds: 5}, "even"},
		{bench.Spread{Min: 0.2, Median: 0.5, Max: 1.1, Rounds: 5}, "even"},
		{bench.Spread{Min: 1.01, Median: 1.02, Max: 1.03, Rounds: 5}, "even"},
		{bench.Spread{Min: 0.97, Median: 0.98, Max: 0.99, Rounds: 5}, "even"},
		{bench.Spread{Min: 122766, Median: 122766, Max: 122766, Rounds: 1}, "120,000× better"},
		{bench.Spread{Min: 0.003, Median: 0.003, Max: 0.003, Rounds: 1}, "330× worse"},
		{bench.Spread{}, ""},
		{bench.Spread{Min: 1, Median: math.NaN(), Max: 1, Rounds: 2}, ""},
		{bench.Spread{Min: 0, Median: 0, Max: 0, Rounds: 2}, ""},
	} {
		if got := verdictText(tt.ratio); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.ratio, got, tt.want)
		}
	}
}
