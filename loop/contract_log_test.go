package loop_test

import (
	"fmt"
	"log"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
)

// wantRecords checks how many records were logged, and returns them.
func wantRecords(t testing.TB, what string, r *testkit.LogRecorder, want int) []string {
	t.Helper()
	got := r.Records()
	if len(got) != want {
		t.Fatalf("%s: %d records, want %d: %q", what, len(got), want, got)
	}
	return got
}

func TestACallbackSlowerThanSlowCallbackIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r testkit.LogRecorder
		l := newLoop(t, loop.Options{Logger: slog.New(&r), SlowCallback: second})
		for _, c := range handleCalls {
			for _, takes := range []time.Duration{0, millisecond, second - 1, second} {
				c.call(l, func() { time.Sleep(takes) })
				runUntilIdleInBubble(t, l)
				wantRecords(t, fmt.Sprint(c.name, " of ", takes), &r, 0)
			}
			c.call(l, noop)
			c.call(l, func() { time.Sleep(3 * second) })
			c.call(l, noop)
			runUntilIdleInBubble(t, l)
			got := wantRecords(t, c.name+" of 3s", &r, 1)[0]
			const begin = "loop: slow callback callback=github.com/foliot-go/foliot/loop_test.Test"
			if !strings.HasPrefix(got, begin) || !strings.HasSuffix(got, " took=3s") {
				t.Errorf("the record of %s of 3s is %q, want %q and took=3s", c.name, got, begin)
			}
			r.Clear()
		}
		post(t, l, func() { time.Sleep(2 * second) })
		l.Step()
		wantRecords(t, "a post of 2s", &r, 1)
	})
}

func TestASlowCallbackIsLoggedOnAVirtualClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r testkit.LogRecorder
		l := newLoop(t, loop.Options{
			Logger: slog.New(&r), SlowCallback: second, Clock: loop.Virtual(0),
		})
		l.CallLater(hour, func() { time.Sleep(2 * second) })
		l.CallLater(2*hour, noop)
		runUntilIdleInBubble(t, l)
		wantRecords(t, "a callback of 2s", &r, 1)
	})
}

// setDefault makes slog.Default log to r until the test ends.
func setDefault(t *testing.T, r *testkit.LogRecorder) {
	t.Helper()
	logger, writer, flags := slog.Default(), log.Writer(), log.Flags()
	t.Cleanup(func() {
		slog.SetDefault(logger)
		log.SetOutput(writer) // SetDefault has changed the output and the flags
		log.SetFlags(flags)
	})
	slog.SetDefault(slog.New(r))
}

func TestWithoutALoggerASlowCallbackIsLoggedToTheDefault(t *testing.T) {
	var r testkit.LogRecorder
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{SlowCallback: second})
		setDefault(t, &r) // after New: the loop must not keep the old default
		l.CallSoon(func() { time.Sleep(second) })
		l.CallSoon(func() { time.Sleep(second + 1) })
		runUntilIdleInBubble(t, l)
	})
	if got := wantRecords(t, "one slow callback", &r, 1)[0]; !strings.Contains(got, "slow callback") {
		t.Errorf("the record is %q, want one with slow callback", got)
	}
}

func TestNothingIsLoggedWithoutSlowCallback(t *testing.T) {
	var r testkit.LogRecorder
	setDefault(t, &r)
	synctest.Test(t, func(t *testing.T) {
		for _, o := range []loop.Options{
			{},
			{Logger: slog.New(&r)},
			{Logger: slog.New(&r), SlowCallback: -second},
		} {
			l := newLoop(t, o)
			l.CallSoon(func() { time.Sleep(hour) })
			runUntilIdleInBubble(t, l)
		}
	})
	wantRecords(t, "SlowCallback of zero or less", &r, 0)
}
