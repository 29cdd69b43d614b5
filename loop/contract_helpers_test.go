package loop_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
)

const (
	microsecond = time.Microsecond
	millisecond = time.Millisecond
	second      = time.Second
	minute      = time.Minute
	hour        = time.Hour
	year        = 365 * 24 * hour
)

// newLoop returns a loop that is closed when the test ends.
func newLoop(t testing.TB, o loop.Options) *loop.Loop {
	t.Helper()
	l := loop.New(o)
	t.Cleanup(func() { closeLoop(t, l) })
	return l
}

// closeLoop closes l, which must succeed.
func closeLoop(t testing.TB, l *loop.Loop) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// newVirtual returns a loop on a virtual clock.
func newVirtual(t testing.TB, start time.Duration) *loop.Loop {
	t.Helper()
	return newLoop(t, loop.Options{Clock: loop.Virtual(start)})
}

// clocks are the two kinds of clock.
var clocks = []struct {
	name  string
	clock func() loop.Clock
}{
	{"system", func() loop.Clock { return nil }},
	{"virtual", func() loop.Clock { return loop.Virtual(hour) }},
}

// eachClock runs a subtest with a loop on each kind of clock.
func eachClock(t *testing.T, f func(t *testing.T, l *loop.Loop)) {
	eachClockOf(t, loop.Options{}, f)
}

// eachClockOf is eachClock for loops with other options.
func eachClockOf(t *testing.T, o loop.Options, f func(t *testing.T, l *loop.Loop)) {
	for _, c := range clocks {
		t.Run(c.name, func(t *testing.T) {
			o.Clock = c.clock()
			f(t, newLoop(t, o))
		})
	}
}

// inBubble runs a test in a synctest bubble, with a loop on the clock of the bubble.
func inBubble(t *testing.T, f func(t *testing.T, l *loop.Loop)) {
	synctest.Test(t, func(t *testing.T) { f(t, newLoop(t, loop.Options{})) })
}

// eachClockInBubble runs a subtest in a synctest bubble for each kind of clock.
func eachClockInBubble(t *testing.T, f func(t *testing.T, l *loop.Loop)) {
	for _, c := range clocks {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f(t, newLoop(t, loop.Options{Clock: c.clock()}))
			})
		})
	}
}

// runUntilIdle runs l until it is idle. It fails the test if that takes long.
func runUntilIdle(t testing.TB, l *loop.Loop) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Timeout)
	defer cancel()
	if err := l.RunUntilIdle(ctx); err != nil {
		t.Fatalf("RunUntilIdle: %v", err)
	}
}

// runUntilIdleInBubble runs l until it is idle, however much time passes in the bubble.
func runUntilIdleInBubble(t testing.TB, l *loop.Loop) {
	t.Helper()
	if err := l.RunUntilIdle(context.Background()); err != nil {
		t.Fatalf("RunUntilIdle: %v", err)
	}
}

// post posts f to a loop that is not closed.
func post(t testing.TB, l *loop.Loop, f func()) {
	t.Helper()
	if err := l.Post(f); err != nil {
		t.Errorf("Post: %v", err)
	}
}

// postBatch posts fs to a loop that is not closed.
func postBatch(t testing.TB, l *loop.Loop, fs ...func()) {
	t.Helper()
	if err := l.PostBatch(fs); err != nil {
		t.Errorf("PostBatch: %v", err)
	}
}

// A trace is what happened, in order. It belongs to one goroutine at a time.
type trace struct{ lines []string }

func (tr *trace) add(line string) { tr.lines = append(tr.lines, line) }

// record returns a callback that adds a line.
func (tr *trace) record(line string) func() { return func() { tr.add(line) } }

// want checks the lines since the last call of want. lines has them separated by blanks.
func (tr *trace) want(t testing.TB, what, lines string) {
	t.Helper()
	if want := strings.Fields(lines); !slices.Equal(tr.lines, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, tr.lines, want)
	}
	tr.lines = nil
}

// mustNotRun returns a callback that fails the test.
func mustNotRun(t testing.TB, what string) func() {
	return func() { t.Errorf("%s ran", what) }
}

func noop() {}

// startRun calls l.Run on a new goroutine, and returns when the loop is running. The
// channel gets the error of Run.
func startRun(t testing.TB, ctx context.Context, l *loop.Loop) <-chan error {
	t.Helper()
	running := make(chan struct{})
	post(t, l, func() { close(running) })
	ended := testkit.Async(func() error { return l.Run(ctx) })
	testkit.Receive(t, running, "the first callback of Run")
	return ended
}

// stopRun stops a loop that startRun has started, and waits until Run has returned.
func stopRun(t testing.TB, l *loop.Loop, ended <-chan error) {
	t.Helper()
	l.Stop()
	wantEnd(t, ended)
}

// wantEnd waits until Run has returned nil.
func wantEnd(t testing.TB, ended <-chan error) {
	t.Helper()
	if err := testkit.Receive(t, ended, "the end of Run"); err != nil {
		t.Errorf("Run: %v", err)
	}
}
