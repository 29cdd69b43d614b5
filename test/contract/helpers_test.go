package contract_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

const (
	microsecond = time.Microsecond
	millisecond = time.Millisecond
	second      = time.Second
	hour        = time.Hour
)

// wantError checks that err is there and has the prefix of all errors of the package.
func wantError(t testing.TB, what string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", what)
	} else if text := err.Error(); !strings.HasPrefix(text, "foliot: ") || len(text) < len("foliot: ")+5 {
		t.Errorf("%s: the error %q does not begin with foliot: and say something", what, text)
	}
}

// wantStale checks that a handle names nothing.
func wantStale(t testing.TB, what string, timer foliot.Timer) {
	t.Helper()
	if at, ok := timer.Deadline(); ok {
		t.Errorf("%s: Deadline is %v, true", what, at)
	}
	if timer.Stop() {
		t.Errorf("%s: Stop is true", what)
	}
	if timer.Reset(hour) {
		t.Errorf("%s: Reset is true", what)
	}
	if timer.ResetAt(time.Now().Add(hour)) {
		t.Errorf("%s: ResetAt is true", what)
	}
	if timer.Free() {
		t.Errorf("%s: Free is true", what)
	}
}

// wantNoGoroutines waits until no goroutine runs code of the library.
func wantNoGoroutines(t testing.TB, when string) {
	t.Helper()
	var left []string
	if !testkit.TrueWithin(5*second, func() bool { left = kit.LibraryGoroutines(); return len(left) == 0 }) {
		t.Fatalf("%s: %d goroutines of the library\n%s", when, len(left), strings.Join(left, "\n\n"))
	}
}

// eachWorkers runs a test for several numbers of workers; 0 is the default number.
func eachWorkers(t *testing.T, f func(t *testing.T, workers int)) {
	for _, workers := range []int{0, 1, 3, 8} {
		t.Run(fmt.Sprintf("workers %d", workers), func(t *testing.T) { f(t, workers) })
	}
}
