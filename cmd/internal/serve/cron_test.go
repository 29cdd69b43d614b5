package serve

import (
	"testing"
	"time"
)

// The library documents that times that a change of clocks skips do not occur. A time that is repeated occurs
// twice.
func TestCalendars(t *testing.T) {
	for _, tt := range []struct {
		expr, tz, after string
		want            []string
	}{
		{"*/15 * * * *", "", "2026-01-01T00:00:00Z", []string{"2026-01-01T00:15:00Z", "2026-01-01T00:30:00Z"}},
		{"30 */15 * * * *", "", "2026-01-01T00:00:00Z", []string{"2026-01-01T00:00:30Z", "2026-01-01T00:15:30Z"}},
		{"0 3 * * *", "Europe/Berlin", "2026-01-01T00:00:00Z", []string{"2026-01-01T02:00:00Z", "2026-01-02T02:00:00Z"}},
		{"@daily", "America/New_York", "2026-07-01T00:00:00Z", []string{"2026-07-01T04:00:00Z"}},
		{"0 12 * * MON-FRI", "UTC", "2026-01-02T12:00:00Z", []string{"2026-01-05T12:00:00Z"}},
		{"0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", []string{"2028-02-29T00:00:00Z"}},
		// In spring, 02:30 does not occur on 29 March: it is skipped.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", []string{"2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"}},
		{"30 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", []string{"2026-03-29T01:30:00Z"}},
		// In autumn, 02:30 occurs twice on 25 October.
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", []string{"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"}},
		{"0 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", []string{"2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"}},
	} {
		c, err := parseCalendar(tt.expr, tt.tz)
		if err != nil {
			t.Error(err)
			continue
		}
		at, err := time.Parse(time.RFC3339, tt.after)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			at = c.next(at)
			if got := at.UTC().Format(time.RFC3339); got != want {
				t.Errorf("%s in %s: %s, want %s", tt.expr, tt.tz, got, want)
			}
		}
	}
}

func TestNextOccurrence(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	spec := Spec{Cron: "0 3 * * *", TZ: "Europe/Berlin", Kind: "k"}
	timer, err := spec.timer("a", now)
	if err != nil || !timer.ByNext || !timer.At.Equal(now.Add(2*time.Hour)) {
		t.Fatal(timer, err)
	}
	if next := nextOccurrence(timer, timer.At); !next.Equal(timer.At.Add(24 * time.Hour)) {
		t.Error(next)
	}
	spec.At = "2026-01-01T00:00:01Z"
	if timer, err = spec.timer("a", now); err != nil || !timer.At.Equal(now.Add(time.Second)) {
		t.Error(timer, err)
	}
	spec = Spec{After: "1s", Kind: "k"}
	if timer, err = spec.timer("a", now); err != nil || !nextOccurrence(timer, now).IsZero() {
		t.Error(timer, err)
	}
	if timer.Payload = []byte("?"); !nextOccurrence(timer, now).IsZero() {
		t.Error("a damaged timer occurs again")
	}
}
