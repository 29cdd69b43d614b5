package check

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

// openFiles counts the file descriptors of this process, that of the count included.
func openFiles(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(fds)
}

// noMoreFiles waits until no more than want files are open, tidying up meanwhile.
func noMoreFiles(t *testing.T, want int, tidy func()) {
	t.Helper()
	got := openFiles(t)
	for limit := time.Now().Add(10 * time.Second); got > want; got = openFiles(t) {
		if time.Now().After(limit) {
			t.Fatalf("%d files are open, were %d", got, want)
		}
		tidy()
		time.Sleep(time.Millisecond)
	}
}

func TestAnOpenFileIsCounted(t *testing.T) {
	before := openFiles(t)
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := openFiles(t); got != before+1 {
		t.Errorf("%d files are open after one more was opened, were %d", got, before)
	}
}

// crowd is how many runtimes are made. They may hold a file each while in use.
const crowd = 200

// filesAtRest is how many files are open once Go's poller and the default runtime
// have opened theirs, which they keep.
func filesAtRest(t *testing.T) int {
	t.Helper()
	fire(t, foliot.Default(), 5)
	shutdown(t, use(t, foliot.Options{}), 0)
	before := openFiles(t)
	noGoroutine(t)
	return min(before, openFiles(t))
}

func TestNoFileIsLeftOpenAfterShutdown(t *testing.T) {
	want := filesAtRest(t)
	var rs []*foliot.Runtime
	for range crowd {
		rs = append(rs, use(t, foliot.Options{Workers: 1}))
	}
	for _, r := range rs {
		shutdown(t, r, 0)
	}
	noMoreFiles(t, want, func() {})
	noGoroutine(t)
	runtime.KeepAlive(rs)
}

func TestNoFileIsLeftOpenByShutdownWithTimersArmed(t *testing.T) {
	want := filesAtRest(t)
	for range crowd {
		r := use(t, foliot.Options{Workers: 2})
		arm(t, r, 3, time.Hour)
		shutdown(t, r, 3)
	}
	noMoreFiles(t, want, func() {})
	noGoroutine(t)
}

func TestNoFileIsLeftOpenByRuntimesThatAreDropped(t *testing.T) {
	for name, use := range map[string]func(t *testing.T, r *foliot.Runtime){
		"never used":               func(*testing.T, *foliot.Runtime) {},
		"their timers have run":    func(t *testing.T, r *foliot.Runtime) { fire(t, r, 5) },
		"their timers are stopped": func(t *testing.T, r *foliot.Runtime) { stopAll(t, arm(t, r, 10, time.Hour)) },
	} {
		t.Run(name, func(t *testing.T) {
			want := filesAtRest(t)
			for range crowd {
				r, err := foliot.New(foliot.Options{Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
				use(t, r)
			}
			noGoroutine(t)
			noMoreFiles(t, want, runtime.GC)
		})
	}
}

func TestARuntimeWithAFarTimerHoldsNoFile(t *testing.T) {
	for name, use := range map[string]func(t *testing.T, r *foliot.Runtime){
		"never near":    func(*testing.T, *foliot.Runtime) {},
		"near at first": func(t *testing.T, r *foliot.Runtime) { fire(t, r, 5) },
	} {
		t.Run(name, func(t *testing.T) {
			want := filesAtRest(t)
			var rs []*foliot.Runtime
			for range crowd {
				r, err := foliot.New(foliot.Options{Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
				arm(t, r, 3, time.Hour)
				use(t, r)
				rs = append(rs, r)
			}
			noMoreFiles(t, want, func() {})
			noGoroutine(t)
			for _, r := range rs {
				shutdown(t, r, 3)
			}
		})
	}
}
