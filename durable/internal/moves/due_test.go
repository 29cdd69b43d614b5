package moves

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// at returns the record of a timer that is armed.
func armedAt(at int64, t durable.Timer) *Record {
	r := &Record{}
	t.At, t.Kind = time.Unix(0, at), "k"
	r.Arm(&t, 1)
	return r
}

// calendar returns a NextFunc with given occurrences.
func calendar(times []int64) func(after time.Time) time.Time {
	return func(after time.Time) time.Time {
		for _, t := range times {
			if t > after.UnixNano() {
				return time.Unix(0, t)
			}
		}
		return time.Time{}
	}
}

// TestDueByNextIsWhatACountOfTheOccurrencesSays compares DueAt with a count of all occurrences.
func TestDueByNextIsWhatACountOfTheOccurrencesSays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	far := 0
	for round := range 2000 {
		n := 1 + r.IntN(20)
		if round%20 == 0 {
			n = missedMax + r.IntN(3*missedMax)
		}
		times := []int64{}
		for at := r.Int64N(1e9); len(times) < n; at += 1 + r.Int64N(int64(time.Hour)) {
			times = append(times, at)
		}
		now := times[0] + r.Int64N(times[n-1]-times[0]+int64(time.Hour))
		want := Due{latest: times[0]}
		due := 0
		for _, at := range times {
			if at <= now {
				want.latest = at
				due++
			}
		}
		want.before = uint64(min(due-1, missedMax))
		if want.ends = due == n; !want.ends {
			want.next = times[due]
		}
		if due > missedMax {
			far++
		}
		record := armedAt(times[0], durable.Timer{ByNext: true})
		if got := record.DueAt(now, calendar(times)); got != want {
			t.Fatalf("round %d: of %d occurrences %d are due: got %+v, want %+v", round, n, due, got, want)
		}
	}
	if far < 20 {
		t.Errorf("only %d rounds had more than %d missed occurrences", far, missedMax)
	}
}

func TestDueByNextCallsTheFunctionABoundedNumberOfTimes(t *testing.T) {
	calls := 0
	everySecond := func(after time.Time) time.Time {
		calls++
		return after.Truncate(time.Second).Add(time.Second)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 1, time.UTC)
	record := armedAt(now.AddDate(-50, 0, 0).Truncate(time.Second).UnixNano(), durable.Timer{ByNext: true})
	got := record.DueAt(now.UnixNano(), everySecond)
	latest := now.Truncate(time.Second).UnixNano()
	if want := (Due{latest: latest, before: missedMax, next: latest + 1e9}); got != want {
		t.Errorf("after 50 years, due is %+v, want %+v", got, want)
	}
	if calls > missedMax+100 {
		t.Errorf("the function was called %d times", calls)
	}
}

func TestAFunctionThatDoesNotGoOnEndsTheSeries(t *testing.T) {
	for name, next := range map[string]func(after time.Time) time.Time{
		"zero":     func(time.Time) time.Time { return time.Time{} },
		"the same": func(after time.Time) time.Time { return after },
		"before":   func(after time.Time) time.Time { return after.Add(-time.Hour) },
		"too far":  func(time.Time) time.Time { return time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		d := armedAt(10, durable.Timer{ByNext: true}).DueAt(20, next)
		if want := (Due{latest: 10, ends: true}); d != want {
			t.Errorf("%s: due is %+v, want %+v", name, d, want)
		}
		if e := d.Event(Tick); e != Fire {
			t.Errorf("%s: the event is %s, want fire", name, e)
		}
	}
}

func TestDueOfTimersWithoutAFunction(t *testing.T) {
	no := func(time.Time) time.Time { panic("called") }
	for _, c := range []struct {
		timer durable.Timer
		now   int64
		want  Due
	}{
		{durable.Timer{}, 100, Due{latest: 10, ends: true}},
		{durable.Timer{Every: 30}, 9, Due{latest: 10, ends: true}},
		{durable.Timer{Every: 30}, 10, Due{latest: 10, next: 40}},
		{durable.Timer{Every: 30}, 100, Due{latest: 100, before: 3, next: 130}},
		{durable.Timer{Every: math.MaxInt64}, 100, Due{latest: 10, next: never}},
	} {
		if got := armedAt(10, c.timer).DueAt(c.now, no); got != c.want {
			t.Errorf("Every %d at %d: %+v, want %+v", c.timer.Every, c.now, got, c.want)
		}
	}
}

func TestARecordKeepsByNext(t *testing.T) {
	r := armedAt(10, durable.Timer{ByNext: true})
	got, rest, err := DecodeRecord(r.Append(nil))
	if err != nil || len(rest) != 0 || fmt.Sprint(got) != fmt.Sprint(*r) {
		t.Errorf("decoded %+v, %v, want %+v", got, err, *r)
	}
	if timer := got.Timer("x"); !timer.ByNext || timer.Every != 0 {
		t.Errorf("the timer is %+v, want ByNext and no Every", timer)
	}
}
