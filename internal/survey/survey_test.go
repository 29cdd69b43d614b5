package survey

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/internal/wheel"
)

func TestMergedSpansAreDisjoint(t *testing.T) {
	a := []wheel.Span{{First: 0, Last: 0, Count: 1}, {First: 64, Last: 127, Count: 2}, {First: 4096, Last: 8191, Count: 4}}
	b := []wheel.Span{{First: 70, Last: 70, Count: 8}, {First: 71, Last: 71, Count: 16}, {First: 128, Last: 191, Count: 32}, {First: 1 << 20, Last: wheel.Never, Count: 64}}
	want := []wheel.Span{
		{First: 0, Last: 0, Count: 1},
		{First: 64, Last: 127, Count: 26},
		{First: 128, Last: 191, Count: 32},
		{First: 4096, Last: 8191, Count: 4},
		{First: 1 << 20, Last: wheel.Never, Count: 64},
	}
	for _, got := range [][]wheel.Span{Merge(nil, a, b), Merge(nil, b, a)} {
		if !slices.Equal(got, want) {
			t.Errorf("merged: %v, want %v", got, want)
		}
	}
}

func TestASampleIsDividedInProportion(t *testing.T) {
	if parts := Divide(10, []int{0, 0}, 0); !slices.Equal(parts, []int{0, 0}) {
		t.Errorf("parts of empty groups are %v, want none", parts)
	}
	sizes := []int{1, 0, 500, 3, 496}
	const rounds, sample = 10_000, 100
	sums := make([]int, len(sizes))
	rnd := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		total := 0
		for i, n := range Divide(sample, sizes, rnd.Uint32N(1000)) {
			if n < 0 || n > sizes[i] {
				t.Fatalf("group %d of %v gets %d", i, sizes, n)
			}
			sums[i] += n
			total += n
		}
		if total != sample {
			t.Fatalf("the parts sum up to %d, want %d", total, sample)
		}
	}
	for i, size := range sizes {
		got, want := float64(sums[i])/rounds, float64(size)*sample/1000
		if math.Abs(got-want) > 0.02 {
			t.Errorf("group %d with %d of 1000 gets %.3f on average, want %.3f", i, size, got, want)
		}
	}
}

func TestAGroupKeepsItsWeightIfFewerAreFound(t *testing.T) {
	var s Shares
	s.Add([]string{"a", "a", "a", "b"}, 4)
	s.Add([]string{"b"}, 4) // three slots were not armed
	s.Add(nil, 2)           // nothing was found
	want := []Share{{"b", 5. / 8, 2}, {"a", 3. / 8, 3}}
	if got := s.Sorted(); !slices.Equal(got, want) {
		t.Errorf("the shares are %v, want %v", got, want)
	}
	if got := new(Shares).Sorted(); len(got) != 0 {
		t.Errorf("the shares of nothing are %v", got)
	}
}
