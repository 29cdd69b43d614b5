package check

import (
	"runtime"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
)

// wantOpenFiles waits until at most want files are open. It calls cleanup again and again
// meanwhile.
func wantOpenFiles(t *testing.T, want int, cleanup func()) {
	t.Helper()
	var got int
	few := func() bool {
		cleanup()
		got = testkit.OpenFiles(t)
		return got <= want
	}
	if !testkit.TrueWithin(10*time.Second, few) {
		t.Fatalf("%d files are open, want at most %d", got, want)
	}
}

// manyRuntimes is the number of runtimes in these tests. Each may have a file open while it is in
// use.
const manyRuntimes = 200

// idleOpenFiles returns how many files are open after Go's poller and the default runtime have
// opened files that they keep open.
func idleOpenFiles(t *testing.T) int {
	t.Helper()
	fireMany(t, foliot.Default(), 5)
	shutdown(t, newUsedRuntime(t, foliot.Options{}), 0)
	before := testkit.OpenFiles(t)
	wantNoGoroutines(t)
	return min(before, testkit.OpenFiles(t))
}

func TestNoFileIsLeftOpenAfterShutdown(t *testing.T) {
	want := idleOpenFiles(t)
	var rs []*foliot.Runtime
	for range manyRuntimes {
		rs = append(rs, newUsedRuntime(t, foliot.Options{Workers: 1}))
	}
	for _, r := range rs {
		shutdown(t, r, 0)
	}
	wantOpenFiles(t, want, func() {})
	wantNoGoroutines(t)
	runtime.KeepAlive(rs)
}

func TestNoFileIsLeftOpenByShutdownWithTimersArmed(t *testing.T) {
	want := idleOpenFiles(t)
	for range manyRuntimes {
		r := newUsedRuntime(t, foliot.Options{Workers: 2})
		armMany(t, r, 3, time.Hour)
		shutdown(t, r, 3)
	}
	wantOpenFiles(t, want, func() {})
	wantNoGoroutines(t)
}

func TestNoFileIsLeftOpenByUnreachableRuntimes(t *testing.T) {
	for name, use := range map[string]func(t *testing.T, r *foliot.Runtime){
		"never used":               func(*testing.T, *foliot.Runtime) {},
		"their timers have run":    func(t *testing.T, r *foliot.Runtime) { fireMany(t, r, 5) },
		"their timers are stopped": func(t *testing.T, r *foliot.Runtime) { stopAll(t, armMany(t, r, 10, time.Hour)) },
	} {
		t.Run(name, func(t *testing.T) {
			want := idleOpenFiles(t)
			for range manyRuntimes {
				r, err := foliot.New(foliot.Options{Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
				use(t, r)
			}
			wantNoGoroutines(t)
			wantOpenFiles(t, want, runtime.GC)
		})
	}
}

func TestARuntimeWithOnlyFarTimersHasNoFileOpen(t *testing.T) {
	for name, use := range map[string]func(t *testing.T, r *foliot.Runtime){
		"no near timer":      func(*testing.T, *foliot.Runtime) {},
		"near timers before": func(t *testing.T, r *foliot.Runtime) { fireMany(t, r, 5) },
	} {
		t.Run(name, func(t *testing.T) {
			want := idleOpenFiles(t)
			var rs []*foliot.Runtime
			for range manyRuntimes {
				r, err := foliot.New(foliot.Options{Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
				armMany(t, r, 3, time.Hour)
				use(t, r)
				rs = append(rs, r)
			}
			wantOpenFiles(t, want, func() {})
			wantNoGoroutines(t)
			for _, r := range rs {
				shutdown(t, r, 3)
			}
		})
	}
}
