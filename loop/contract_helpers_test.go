package loop_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/loop"
)

const (
	microsecond = time.Microsecond
	millisecond = time.Millisecond
	second      = time.Second
	minute      = time.Minute
	hour        = time.Hour
	year        = 365 * 24 * hour

	// patience is how long a test waits for what must come. Only a broken loop makes it wait that long.
	patience = 20 * second
)

// newLoop is a loop that is closed when the test ends.
func newLoop(t testing.TB, o loop.Options) *loop.Loop {
	t.Helper()
	l := loop.New(o)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("Close at the end of the test: %v", err)
		}
	})
	return l
}

// newVirtual is a loop on virtual time.
func newVirtual(t testing.TB, start time.Duration) *loop.Loop {
	t.Helper()
	return newLoop(t, loop.Options{Clock: loop.Virtual(start)})
}

// eachClock runs a test on virtual time and on the system's.
func eachClock(t *testing.T, f func(t *testing.T, l *loop.Loop)) {
	t.Run("system", func(t *testing.T) { f(t, newLoop(t, loop.Options{})) })
	t.Run("virtual", func(t *testing.T) { f(t, newVirtual(t, hour)) })
}

// runIdle runs l until it is idle, which must be soon.
func runIdle(t testing.TB, l *loop.Loop) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := l.RunUntilIdle(ctx); err != nil {
		t.Fatalf("RunUntilIdle: %v", err)
	}
}

// runIdleInBubble runs l until it is idle, however much time passes in the bubble.
func runIdleInBubble(t testing.TB, l *loop.Loop) {
	t.Helper()
	if err := l.RunUntilIdle(context.Background()); err != nil {
		t.Fatalf("RunUntilIdle: %v", err)
	}
}

// post is Post on a loop that is open.
func post(t testing.TB, l *loop.Loop, f func()) {
	t.Helper()
	if err := l.Post(f); err != nil {
		t.Errorf("Post: %v", err)
	}
}

// A journal is what happened, in order. It belongs to one goroutine at a time.
type journal struct{ lines []string }

func (j *journal) add(line string) { j.lines = append(j.lines, line) }

// note is a callback that leaves a line.
func (j *journal) note(line string) func() { return func() { j.add(line) } }

// want checks what has happened since the last call of want: words separated by blanks.
func (j *journal) want(t testing.TB, what, lines string) {
	t.Helper()
	if want := strings.Fields(lines); !slices.Equal(j.lines, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, j.lines, want)
	}
	j.lines = nil
}

// never is a callback that must not run.
func never(t testing.TB, what string) func() {
	return func() { t.Errorf("%s ran", what) }
}

func noop() {}

// receive waits for ch.
func receive[T any](t testing.TB, ch <-chan T, what string) T {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case v := <-ch:
		return v
	case <-limit.C:
		t.Fatalf("%s: nothing in %v\n%s", what, patience, stacks())
		panic("unreachable")
	}
}

// inBackground runs f on a goroutine; its result comes on the channel.
func inBackground[T any](f func() T) <-chan T {
	ch := make(chan T, 1)
	go func() { ch <- f() }()
	return ch
}

// started runs l.Run on a goroutine and comes back when the loop is running. The error of Run comes on the channel.
func started(t testing.TB, ctx context.Context, l *loop.Loop) <-chan error {
	t.Helper()
	running := make(chan struct{})
	post(t, l, func() { close(running) })
	ended := inBackground(func() error { return l.Run(ctx) })
	receive(t, running, "the first callback of Run")
	return ended
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

// loopGoroutines are the goroutines that run code of the library or were started by it.
func loopGoroutines() []string {
	const module = "github.com/foliot-go/foliot"
	var found []string
	for g := range strings.SplitSeq(stacks(), "\n\n") {
		for line := range strings.Lines(g) {
			line = strings.TrimPrefix(line, "created by ")
			if strings.HasPrefix(line, module+"/loop.") || strings.HasPrefix(line, module+"/internal/") ||
				strings.HasPrefix(line, module+".") {
				found = append(found, g)
				break
			}
		}
	}
	return found
}
