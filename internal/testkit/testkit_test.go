package testkit

import (
	"errors"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

// A failingTB records that the test failed, instead of failing it.
type failingTB struct {
	testing.TB
	failed bool
}

func (f *failingTB) Helper() {}

func (f *failingTB) Fatalf(string, ...any) {
	f.failed = true
	runtime.Goexit()
}

// fails reports whether f fails its test. It must be called in a synctest bubble, so that
// Timeout passes at once.
func fails(f func(t testing.TB)) bool {
	var tb failingTB
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(&tb)
	}()
	<-done
	return tb.failed
}

func TestWaitsEndWithTheResultOrFailTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(d time.Duration) func() { return func() { time.Sleep(d) } }
		after := func(d time.Duration) func() bool {
			start := time.Now()
			return func() bool { return time.Since(start) >= d }
		}
		for name, wait := range map[string]func(t testing.TB, d time.Duration){
			"Receive": func(t testing.TB, d time.Duration) {
				Receive(t, Async(func() int { time.Sleep(d); return 1 }), "a value")
			},
			"Returns":    func(t testing.TB, d time.Duration) { Returns(t, "a call", slow(d)) },
			"Eventually": func(t testing.TB, d time.Duration) { Eventually(t, "a condition", after(d)) },
		} {
			if fails(func(t testing.TB) { wait(t, Timeout/2) }) {
				t.Errorf("%s fails the test before Timeout", name)
			}
			if !fails(func(t testing.TB) { wait(t, 2*Timeout) }) {
				t.Errorf("%s does not fail the test after Timeout", name)
			}
		}
		time.Sleep(2 * Timeout) // the goroutines that were waited for return
	})
}

func TestReceiveReturnsTheValue(t *testing.T) {
	if got := Receive(t, Async(func() string { return "x" }), "a value"); got != "x" {
		t.Errorf("Receive returns %q, want x", got)
	}
}

func TestPanicValueIsWhatAFunctionPanicsWith(t *testing.T) {
	err := errors.New("x")
	if got := PanicValue(func() { panic(err) }); got != err {
		t.Errorf("PanicValue is %v, want %v", got, err)
	}
	if got := PanicValue(func() {}); got != nil {
		t.Errorf("PanicValue of a function that returns is %v", got)
	}
}

func TestGoroutineStacksHasEachGoroutineOnce(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	for range 3 {
		go waitInStack(stop)
	}
	Eventually(t, "three goroutines", func() bool {
		n := 0
		for _, stack := range GoroutineStacks() {
			if strings.Contains(stack, "testkit.waitInStack(") {
				n++
			}
		}
		return n == 3
	})
}

func waitInStack(stop chan struct{}) { <-stop }

func TestOpenFilesCountsAnOpenFile(t *testing.T) {
	before := OpenFiles(t)
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if now := OpenFiles(t); now != before+1 {
		t.Errorf("%d files are open, want %d", now, before+1)
	}
}

func TestALogRecorderKeepsMessagesAndAttributes(t *testing.T) {
	var r LogRecorder
	log := slog.New(&r)
	log.Debug("first", "took", 3*time.Second)
	log.With("ignored", 1).Error("second")
	if got, want := r.Records(), []string{"first took=3s", "second"}; !slices.Equal(got, want) {
		t.Errorf("the records are %q, want %q", got, want)
	}
	r.Clear()
	if got := r.Records(); len(got) != 0 {
		t.Errorf("the records after Clear are %q", got)
	}
}

func TestStressTimeIsThatOfTheEnvironment(t *testing.T) {
	t.Setenv("FOLIOT_STRESS", "")
	want := time.Second
	if testing.Short() {
		want = time.Second / 5
	}
	if got := StressTime(t, time.Second); got != want {
		t.Errorf("StressTime without FOLIOT_STRESS is %v, want %v", got, want)
	}
	t.Setenv("FOLIOT_STRESS", "90s")
	if got := StressTime(t, time.Second); got != 90*time.Second {
		t.Errorf("StressTime with FOLIOT_STRESS=90s is %v", got)
	}
}

func TestEachProcsSetsTheNumberOfProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	for full, want := range map[string][]int{"": {2}, "1": {1, 2, 8}} {
		t.Setenv("FOLIOT_FULL", full)
		var procs []int
		EachProcs(t, func(*testing.T) { procs = append(procs, runtime.GOMAXPROCS(0)) })
		if !slices.Equal(procs, want) {
			t.Errorf("with FOLIOT_FULL=%s the tests had %v processors, want %v", full, procs, want)
		}
		if after := runtime.GOMAXPROCS(0); after != before {
			t.Errorf("GOMAXPROCS is %d, was %d", after, before)
		}
	}
}

func TestHeapInUseCountsALiveAllocation(t *testing.T) {
	const size = 64 << 20
	before := HeapInUse()
	b := make([]byte, size)
	if grown := HeapInUse() - before; grown < size/2 {
		t.Errorf("HeapInUse has grown by %d bytes, want about %d", grown, size)
	}
	runtime.KeepAlive(b)
}

func TestUncollectedCountsReachableObjects(t *testing.T) {
	kept, dropped := new([64]byte), new([64]byte)
	pointers := []weak.Pointer[[64]byte]{weak.Make(kept), weak.Make(dropped)}
	if got := Uncollected(time.Second/10, pointers); got != 1 {
		t.Errorf("Uncollected with one reachable object is %d, want 1", got)
	}
	runtime.KeepAlive(kept)
	if got := Uncollected(Timeout, pointers); got != 0 {
		t.Errorf("Uncollected without reachable objects is %d, want 0", got)
	}
}

func TestLetsOthersRunDistinguishesCallsThatYield(t *testing.T) {
	if !LetsOthersRun(runtime.Gosched) {
		t.Error("LetsOthersRun is false for a function that yields")
	}
	if LetsOthersRun(func() {}) {
		t.Error("LetsOthersRun is true for a function that does not yield")
	}
}

func TestShareDividesTheBudget(t *testing.T) {
	if got := Share(200*time.Millisecond, 4); got != 50*time.Millisecond {
		t.Errorf("Share of 200ms is %v, want 50ms", got)
	}
	want := 15 * time.Second
	if testing.Short() {
		want = 75 * time.Millisecond
	}
	if got := Share(time.Minute, 4); got != want {
		t.Errorf("Share of 1m is %v, want %v", got, want)
	}
}
