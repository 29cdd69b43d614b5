package wheel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/internal/wheel"
)

// armedTicks returns the ticks of the entries that are armed, in order. No entry is armed for Never.
func armedTicks(w *wheel.Wheel[int]) (ticks []wheel.Tick) {
	for h := range w.All() {
		if at, _ := w.Entry(h); at != wheel.Never {
			ticks = append(ticks, at)
		}
	}
	slices.Sort(ticks)
	return ticks
}

// checkSpans compares the spans of a wheel with the ticks of its entries, counted one by one.
func checkSpans(t *testing.T, w *wheel.Wheel[int], at wheel.Tick) {
	t.Helper()
	ticks := armedTicks(w)
	spans := w.Spans(nil, at)
	rest := ticks
	for i, s := range spans {
		n := 0
		for n < len(rest) && rest[n] <= s.Last {
			n++
		}
		if n != s.Count || n == 0 || rest[0] < s.First {
			t.Fatalf("span %d of %d, %d to %d, has %d entries, want %d (earliest %d)", i, len(spans), s.First, s.Last, s.Count, n, rest[:min(n, 1)])
		}
		rest = rest[n:]
		switch {
		case s.First > s.Last:
			t.Fatalf("span %d goes from %d to %d", i, s.First, s.Last)
		case i > 0 && s.First <= spans[i-1].Last:
			t.Fatalf("span %d begins at %d, the one before ends at %d", i, s.First, spans[i-1].Last)
		case s.First <= at && at < s.Last:
			t.Fatalf("span %d, %d to %d, is on both sides of tick %d", i, s.First, s.Last, at)
		}
		width := uint64(s.Last-s.First) + 1
		if width != 0 && width&(width-1) != 0 {
			t.Fatalf("span %d has %d ticks, want a power of two", i, width)
		}
	}
	if len(rest) != 0 {
		t.Fatalf("%d of %d entries are in no span", len(rest), len(ticks))
	}
	if !slices.Equal(armedTicks(w), ticks) {
		t.Fatal("Spans has changed the ticks of entries")
	}
}

func TestSpansHaveEveryArmedEntryOnce(t *testing.T) {
	testkit.SkipIfShort(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, spread := range []uint64{50, 5_000, 1 << 20, 1 << 40, 1 << 63} {
		var w wheel.Wheel[int]
		var handles []wheel.Handle
		tick := func() wheel.Tick {
			at := w.Now() + wheel.Tick(rnd.Uint64N(spread))
			if at < w.Now() {
				at = wheel.Never - 1
			}
			return at
		}
		for range 60 {
			for range rnd.IntN(3000) {
				handles = append(handles, w.Schedule(tick(), 0))
			}
			for range 500 {
				h := handles[rnd.IntN(len(handles))]
				switch rnd.IntN(3) {
				case 0:
					w.Cancel(h)
				case 1:
					w.Park(h)
				case 2:
					w.Reschedule(h, tick())
				}
			}
			switch rnd.IntN(3) {
			case 0:
				checkSpans(t, &w, w.Now())
			case 1: // entries are overdue: Pop has stopped before Now()
				w.Pop(w.Now() + wheel.Tick(rnd.Uint64N(spread/40+1)))
				if h, _, ok := w.Pop(w.Now()); ok {
					w.Cancel(h)
				}
				checkSpans(t, &w, w.Now())
			case 2:
				checkSpans(t, &w, tick())
			}
			for range w.Advance(w.Now() + wheel.Tick(rnd.Uint64N(spread/40+1))) {
			}
		}
	}
}

func TestSpansDoNotChangeWhatAdvanceYields(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	var plain, watched wheel.Wheel[int]
	for i := range 50_000 {
		at := wheel.Tick(rnd.Uint64N(1 << 30))
		plain.Schedule(at, i)
		watched.Schedule(at, i)
	}
	for now := wheel.Tick(0); plain.Len() > 0; now += 1 << 22 {
		watched.Spans(nil, now+wheel.Tick(rnd.Uint64N(1<<24)))
		var want, got []int
		for _, v := range plain.Advance(now) {
			want = append(want, v)
		}
		for _, v := range watched.Advance(now) {
			got = append(got, v)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("at tick %d Advance yields %d entries in another order, or others, after Spans; want %d", now, len(got), len(want))
		}
	}
}

func TestSpansOfAnEmptyWheel(t *testing.T) {
	if s := (*wheel.Wheel[int])(nil).Spans(nil, 5); len(s) != 0 {
		t.Errorf("a nil wheel has the spans %v", s)
	}
	if s := new(wheel.Wheel[int]).Spans(nil, math.MaxUint64); len(s) != 0 {
		t.Errorf("an empty wheel has the spans %v", s)
	}
}

func TestSpansAreTheBranchesOfTheWheel(t *testing.T) {
	w := wheel.New[int](100, 0)
	for _, at := range []wheel.Tick{100, 101, 127, 128, 190, 191, 5000, 1 << 20, wheel.Never} {
		w.Schedule(at, 0)
	}
	want := []wheel.Span{
		{100, 100, 1},
		{101, 101, 1},
		{127, 127, 1},
		{128, 191, 3},
		{4096, 8191, 1},
		{1 << 20, 1<<20 + 1<<18 - 1, 1},
		{15 << 60, wheel.Never, 1},
	}
	if got := w.Spans(nil, 100); !slices.Equal(got, want) {
		t.Errorf("Spans returns\n%v, want\n%v", got, want)
	}
	// After a later tick the branches are those of a wheel that has reached it.
	want = slices.Insert(slices.Delete(want, 3, 4), 3,
		wheel.Span{First: 128, Last: 128, Count: 1}, wheel.Span{First: 190, Last: 190, Count: 1}, wheel.Span{First: 191, Last: 191, Count: 1})
	if got := w.Spans(nil, 189); !slices.Equal(got, want) {
		t.Errorf("Spans returns\n%v, want\n%v", got, want)
	}
}

func TestHorizonHasNoGaps(t *testing.T) {
	type spans = []wheel.Span
	for _, tt := range []struct {
		name     string
		at       wheel.Tick
		in, want spans
	}{
		{"nothing", 7, nil, nil},
		{"spans without entries", 7, spans{{5, 5, 0}, {64, 127, 0}}, nil},
		{"overdue ones", 7, spans{{2, 3, 1}, {7, 7, 2}}, spans{{2, 7, 3}}},
		{"none is overdue", 7, spans{{8, 8, 1}}, spans{{7, 7, 0}, {8, 8, 1}}},
		{"a gap", 7, spans{{7, 7, 1}, {9, 9, 2}}, spans{{7, 7, 1}, {8, 8, 0}, {9, 9, 2}}},
		{"a span without entries is part of a gap", 7, spans{{9, 9, 0}, {64, 127, 2}}, spans{{7, 7, 0}, {8, 63, 0}, {64, 127, 2}}},
		{"the last tick", 7, spans{{15 << 60, wheel.Never, 1}}, spans{{7, 7, 0}, {8, 15<<60 - 1, 0}, {15 << 60, wheel.Never, 1}}},
		{"at the last tick", wheel.Never, spans{{15 << 60, wheel.Never, 1}}, spans{{15 << 60, wheel.Never, 1}}},
	} {
		in := slices.Clone(tt.in)
		if got := wheel.Horizon(tt.in, tt.at); !slices.Equal(got, tt.want) || (got == nil) != (tt.want == nil) {
			t.Errorf("%s: Horizon returns %v, want %v", tt.name, got, tt.want)
		}
		if !slices.Equal(tt.in, in) {
			t.Errorf("%s: Horizon has changed its argument", tt.name)
		}
	}
}

func TestSpansInTheBodyOfAdvanceChangesNothing(t *testing.T) {
	var w wheel.Wheel[int]
	for i := range 100 {
		w.Schedule(wheel.Tick(i), i)
	}
	n := 0
	for at, i := range w.Advance(99) {
		if int(at) != n || i != n {
			t.Fatalf("entry %d comes at tick %d, want entry %d", i, at, n)
		}
		n++
		w.Spans(nil, 50)
	}
	if n != 100 {
		t.Errorf("%d entries come, want 100", n)
	}
}
