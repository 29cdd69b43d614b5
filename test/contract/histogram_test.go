package contract_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// lateAfter fires n timers and returns how late all timers of the runtime were so far.
func lateAfter(t *testing.T, r *foliot.Runtime, n int) foliot.Histogram {
	t.Helper()
	var wg sync.WaitGroup
	for range n {
		wg.Add(1)
		kit.After(t, r, kit.Random(2*millisecond), wg.Done)
	}
	testkit.Returns(t, "all timers", wg.Wait)
	return r.Stats().Late
}

func TestSumIsTheSumOfTheDurations(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	late := lateAfter(t, r, 500)
	n := time.Duration(late.Count())
	if sum := late.Sum(); sum/n != late.Mean() || sum > n*late.Max() {
		t.Errorf("Sum is %v of %d durations, with the mean %v and the maximum %v", sum, n, late.Mean(), late.Max())
	}
	if sum := (foliot.Histogram{}).Sum(); sum != 0 {
		t.Errorf("Sum of the zero Histogram is %v", sum)
	}
}

func TestSumAndSubOnEachClock(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		var before foliot.Stats
		for n := 10; n <= 30; n += 10 {
			for i := range n {
				kit.After(t, r, time.Duration(i)*100*microsecond, func() {})
			}
			c.pass(4 * millisecond)
			var now foliot.Stats
			testkit.Eventually(t, "all timers have fired", func() bool {
				now = r.Stats()
				return now.Ran.Count()-before.Ran.Count() == uint64(n)
			})
			late, ran := now.Late.Sub(before.Late), now.Ran.Sub(before.Ran)
			if late.Count() != uint64(n) || ran.Count() != uint64(n) {
				t.Errorf("%d and %d durations were added, want %d", late.Count(), ran.Count(), n)
			}
			if late.Sum() != now.Late.Sum()-before.Late.Sum() || ran.Sum() != now.Ran.Sum()-before.Ran.Sum() {
				t.Errorf("%v and %v were added, want the differences of the sums", late.Sum(), ran.Sum())
			}
			before = now
		}
	})
}

func TestSubIsWhatWasAddedSince(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	earlier := lateAfter(t, r, 300)
	later := lateAfter(t, r, 200)
	added := later.Sub(earlier)
	if added.Count() != 200 || added.Sum() != later.Sum()-earlier.Sum() {
		t.Errorf("%d durations of %v were added, want 200 of %v", added.Count(), added.Sum(), later.Sum()-earlier.Sum())
	}
	if added.Max() > later.Max() || added.Mean() > added.Max() || added.Quantile(0.5) > added.Max() {
		t.Errorf("the median is %v, the mean %v and the maximum %v, of all %v",
			added.Quantile(0.5), added.Mean(), added.Max(), later.Max())
	}
	counts := map[time.Duration]uint64{}
	for d, n := range later.All() {
		counts[d] = n
	}
	for d, n := range earlier.All() {
		counts[d] -= n
	}
	for d, n := range added.All() {
		if counts[d] != n {
			t.Errorf("%d durations up to %v were added, want %d", n, d, counts[d])
		}
	}
	if later.Count() != 500 || earlier.Count() != 300 {
		t.Errorf("Sub has changed its arguments: they have %d and %d durations", later.Count(), earlier.Count())
	}
}

func TestSubOfWhatIsNotEarlierIsEmpty(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	earlier := lateAfter(t, r, 100)
	later := lateAfter(t, r, 100)
	var none foliot.Histogram
	for what, h := range map[string]foliot.Histogram{
		"the earlier one minus the later one": earlier.Sub(later),
		"one minus itself":                    later.Sub(later),
		"the empty one minus another":         none.Sub(later),
		"the empty one minus itself":          none.Sub(none),
	} {
		if h.Count() != 0 || h.Sum() != 0 || h.Max() != 0 || h.Mean() != 0 {
			t.Errorf("%s has %d durations with the sum %v and the maximum %v", what, h.Count(), h.Sum(), h.Max())
		}
	}
	if h := later.Sub(none); h.Count() != 200 || h.Sum() != later.Sum() {
		t.Errorf("minus the empty one there are %d durations, want 200", h.Count())
	}
}

func TestAHistogramIsPrintedAsASummary(t *testing.T) {
	if got := (foliot.Histogram{}).String(); got != "count 0" {
		t.Errorf("the zero Histogram is %q", got)
	}
	h := foliot.Histogram{}.Add(7, 7, 7, 7, 7, 7, 7, 7, 7, 7)
	if got, want := fmt.Sprint(h), "count 10, mean 7ns, p50 7ns, p90 7ns, p99 7ns, p999 7ns, max 7ns"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	h = h.Add(83_456_789 * microsecond)
	if got := fmt.Sprintf("%+v", foliot.Stats{Late: h}); !strings.Contains(got, " Late:count 11, mean 7.59s, p50 7ns, ") || !strings.Contains(got, ", max 1m23.5s ") {
		t.Errorf("Stats are printed as %s", got)
	}
}

func TestTheJSONOfAHistogramHasTheSum(t *testing.T) {
	got, err := json.Marshal(foliot.Histogram{}.Add(1, 2, 3, 4))
	if want := `{"Count":4,"Sum":10,"Mean":2,"P50":2,"P90":4,"P99":4,"P999":4,"Max":4}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

func TestAddLeavesTheHistogramAsItWas(t *testing.T) {
	var none foliot.Histogram
	few := none.Add(1, 2, 3)
	many := few.Add(4, -second)
	for _, c := range []struct {
		what  string
		h     foliot.Histogram
		count uint64
		sum   time.Duration
		max   time.Duration
	}{
		{"the zero Histogram", none, 0, 0, 0},
		{"one with three durations", few, 3, 6, 3},
		{"one with two more, of which one is negative", many, 5, 10, 4},
		{"what was added", many.Sub(few), 2, 4, 4},
	} {
		if c.h.Count() != c.count || c.h.Sum() != c.sum || c.h.Max() != c.max {
			t.Errorf("%s is %v with the sum %v, want %d, at most %v, with the sum %v", c.what, c.h, c.h.Sum(), c.count, c.max, c.sum)
		}
	}
}
