package loop_test

import (
	"context"
	"log"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// A recorder is a slog handler that keeps what it is told.
type recorder struct{ records []slog.Record }

func (r *recorder) Enabled(context.Context, slog.Level) bool { return true }
func (r *recorder) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *recorder) WithGroup(string) slog.Handler            { return r }
func (r *recorder) Handle(_ context.Context, rec slog.Record) error {
	r.records = append(r.records, rec)
	return nil
}

func TestACallbackSlowerThanSlowCallbackIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		l := newLoop(t, loop.Options{Logger: slog.New(&r), SlowCallback: second})
		for _, c := range calls {
			for _, takes := range []time.Duration{0, millisecond, second - 1, second} {
				c.call(l, func() { time.Sleep(takes) })
				runIdleInBubble(t, l)
				if len(r.records) != 0 {
					t.Fatalf("%s of %v was logged: %v", c.name, takes, r.records)
				}
			}
			c.call(l, noop)
			c.call(l, func() { time.Sleep(3 * second) })
			c.call(l, noop)
			runIdleInBubble(t, l)
			if len(r.records) != 1 {
				t.Fatalf("%s of 3s was logged: %v", c.name, r.records)
			}
			got, want := text(r.records[0]), "loop: slow callback callback=github.com/foliot-go/foliot/loop_test.Test"
			if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, " took=3s") {
				t.Errorf("%s of 3s was logged as %q", c.name, got)
			}
			r.records = nil
		}
		post(t, l, func() { time.Sleep(2 * second) })
		l.Step()
		if len(r.records) != 1 {
			t.Errorf("a post of 2s was logged: %v", r.records)
		}
	})
}

// text is the message and the attributes of a record, durations as Go writes them.
func text(rec slog.Record) string {
	var b strings.Builder
	b.WriteString(rec.Message)
	rec.Attrs(func(a slog.Attr) bool {
		b.WriteString(" " + a.String())
		return true
	})
	return b.String()
}

func TestASlowCallbackIsLoggedOnVirtualTimeToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		l := newLoop(t, loop.Options{Logger: slog.New(&r), SlowCallback: second, Clock: loop.Virtual(0)})
		l.CallLater(hour, func() { time.Sleep(2 * second) })
		l.CallLater(2*hour, noop)
		runIdleInBubble(t, l)
		if len(r.records) != 1 {
			t.Errorf("logged: %v", r.records)
		}
	})
}

// setDefault makes r what slog.Default logs to until the test ends.
func setDefault(t *testing.T, r *recorder) {
	t.Helper()
	logger, writer, flags := slog.Default(), log.Writer(), log.Flags()
	t.Cleanup(func() {
		slog.SetDefault(logger)
		log.SetOutput(writer) // SetDefault has changed both
		log.SetFlags(flags)
	})
	slog.SetDefault(slog.New(r))
}

func TestWithoutALoggerASlowCallbackIsLoggedToTheDefault(t *testing.T) {
	var r recorder
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{SlowCallback: second})
		setDefault(t, &r) // after New
		l.CallSoon(func() { time.Sleep(second) })
		l.CallSoon(func() { time.Sleep(second + 1) })
		runIdleInBubble(t, l)
	})
	if len(r.records) != 1 || !strings.Contains(text(r.records[0]), "slow callback") {
		t.Errorf("logged: %v", r.records)
	}
}

func TestNothingIsLoggedUnlessAsked(t *testing.T) {
	var r recorder
	setDefault(t, &r)
	synctest.Test(t, func(t *testing.T) {
		for _, o := range []loop.Options{
			{},
			{Logger: slog.New(&r)},
			{Logger: slog.New(&r), SlowCallback: -second},
		} {
			l := newLoop(t, o)
			l.CallSoon(func() { time.Sleep(hour) })
			runIdleInBubble(t, l)
		}
	})
	if len(r.records) != 0 {
		t.Errorf("logged: %v", r.records)
	}
}
