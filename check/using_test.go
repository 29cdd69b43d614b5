package check

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"go.uber.org/goleak"
)

// noGoroutine fails the test unless all goroutines but the test's are gone, as a
// user's goleak sees it. goleak overlooks those in a system call; the rest of this
// looks for them.
func noGoroutine(t *testing.T) {
	t.Helper()
	goleak.VerifyNone(t)
	var left []string
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(time.Millisecond) {
		if left = ownGoroutines(); len(left) == 0 {
			return
		}
	}
	t.Errorf("goroutines left:\n%s", strings.Join(left, "\n\n"))
}

// ownGoroutines are the stacks of all goroutines with Foliot in them. The packages of
// this module have a slash where this looks for a dot.
func ownGoroutines() (own []string) {
	buf := make([]byte, 1<<20)
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "github.com/foliot-go/foliot.") || strings.Contains(g, "github.com/foliot-go/foliot/internal/") {
			own = append(own, g)
		}
	}
	return own
}

// kinds of runtimes, none of which may leave anything behind.
var runtimes = map[string]foliot.Options{
	"default":     {},
	"one worker":  {Workers: 1},
	"8 workers":   {Workers: 8},
	"precise":     {Precise: true},
	"slack":       {Slack: time.Millisecond},
	"Options.Go":  {Go: func(f func()) { go f() }},
	"slow logged": {SlowCallback: time.Microsecond},
}

// onEach runs a test with a runtime of each kind, and looks what it leaves.
func onEach(t *testing.T, test func(t *testing.T, r *foliot.Runtime)) {
	for name, o := range runtimes {
		t.Run(name, func(t *testing.T) {
			r, err := foliot.New(o)
			if err != nil {
				t.Fatal(err)
			}
			test(t, r)
			noGoroutine(t)
		})
	}
}

// arm arms n one-shots that must not run, from several goroutines.
func arm(t *testing.T, r *foliot.Runtime, n int, d time.Duration) []foliot.Timer {
	t.Helper()
	const parts = 4
	ts := make([]foliot.Timer, n)
	var wg sync.WaitGroup
	for part := range parts {
		wg.Go(func() {
			for i := part; i < n; i += parts {
				var err error
				if ts[i], err = r.AfterFunc(d, func() { t.Error("a timer far ahead runs") }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return ts
}

// fire runs n timers with short delays and waits for them.
func fire(t *testing.T, r *foliot.Runtime, n int) {
	t.Helper()
	var wg sync.WaitGroup
	wg.Add(n)
	for i := range n {
		if _, err := r.AfterFunc(time.Duration(i%20)*100*time.Microsecond, wg.Done); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, &wg)
}

// wait waits for wg, but not for ever.
func wait(t *testing.T, wg *sync.WaitGroup) {
	t.Helper()
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("still waiting after %v", patience)
	}
}

func stopAll(t *testing.T, ts []foliot.Timer) {
	t.Helper()
	for _, timer := range ts {
		if !timer.Stop() {
			t.Fatal("Stop is false an hour ahead")
		}
	}
}

func shutdown(t *testing.T, r *foliot.Runtime, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if armed, err := r.Shutdown(ctx); armed != want || err != nil {
		t.Errorf("Shutdown: %d, %v, want %d armed", armed, err, want)
	}
}

// use lets a runtime do some of everything and leaves nothing armed.
func use(t *testing.T, o foliot.Options) *foliot.Runtime {
	t.Helper()
	r, err := foliot.New(o)
	if err != nil {
		t.Fatal(err)
	}
	far := arm(t, r, 10, time.Hour)
	fire(t, r, 5)
	stopAll(t, far)
	return r
}
