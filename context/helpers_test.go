package context_test

import (
	std "context"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/context"
)

const (
	millisecond = time.Millisecond
	hour        = time.Hour

	// patience is how long a test waits for something that must happen.
	patience = 20 * time.Second
)

type testKey string

// A failure is an error that is compared by its identity, not by its text.
type failure struct{ text string }

func (f *failure) Error() string { return f.text }

var (
	errTooSlow = &failure{"too slow"}
	errGaveUp  = &failure{"gave up"}
)

// A wrapper is a struct with a context in it, as programs define them.
type wrapper struct{ std.Context }

// wrappers hide a context from a type assertion and pass on its Done.
var wrappers = map[string]func(std.Context) std.Context{
	"bare":    func(ctx std.Context) std.Context { return ctx },
	"valued":  func(ctx std.Context) std.Context { return std.WithValue(ctx, testKey("k"), 1) },
	"wrapped": func(ctx std.Context) std.Context { return wrapper{ctx} },
	"both":    func(ctx std.Context) std.Context { return wrapper{std.WithValue(&wrapper{ctx}, testKey("k"), 1)} },
}

// isDone reports whether Done is closed.
func isDone(ctx std.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// wantLive checks that a context has not ended.
func wantLive(t testing.TB, what string, ctx std.Context) {
	t.Helper()
	if isDone(ctx) || ctx.Err() != nil || std.Cause(ctx) != nil {
		t.Fatalf("%s: done %t, Err %v, Cause %v of a context that has not ended", what, isDone(ctx), ctx.Err(), std.Cause(ctx))
	}
}

// wantEnded checks that a context has ended, and why.
func wantEnded(t testing.TB, what string, ctx std.Context, err, cause error) {
	t.Helper()
	if got := ctx.Err(); got != err {
		t.Fatalf("%s: Err is %v, want %v", what, got, err)
	}
	if !isDone(ctx) {
		t.Fatalf("%s: Done is open, Err is %v", what, ctx.Err())
	}
	if got := std.Cause(ctx); got != cause {
		t.Fatalf("%s: Cause is %v, want %v", what, got, cause)
	}
	if got := context.Cause(ctx); got != cause {
		t.Fatalf("%s: Cause of this package is %v, want %v", what, got, cause)
	}
}

// await waits for the end of a context.
func await(t testing.TB, what string, ctx std.Context) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-ctx.Done():
	case <-limit.C:
		t.Fatalf("%s: not done in %v\n%s", what, patience, stacks())
	}
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

// watchers counts the goroutines that the standard package has started to watch foreign contexts.
func watchers() int {
	return strings.Count(stacks(), "created by context.(*cancelCtx).propagateCancel")
}

var remaining = regexp.MustCompile(` \[[^\]]*\]`)

// nameOf returns the text of a context without the remaining time.
func nameOf(ctx std.Context) string {
	return remaining.ReplaceAllString(fmt.Sprint(ctx), "")
}
