package contract_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

const (
	microsecond = time.Microsecond
	millisecond = time.Millisecond
	second      = time.Second
	hour        = time.Hour
)

// wantError checks that err is not nil, begins with "foliot: " and has a text.
func wantError(t testing.TB, what string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: got no error, want one", what)
	} else if text := err.Error(); !strings.HasPrefix(text, "foliot: ") || len(text) < len("foliot: ")+5 {
		t.Errorf("%s: the error is %q, want foliot: and a text", what, text)
	}
}

// wantStale checks that all calls on a timer that is gone return false.
func wantStale(t testing.TB, what string, timer foliot.Timer) {
	t.Helper()
	if at, ok := timer.Deadline(); ok {
		t.Errorf("%s: Deadline returns %v, true, want false", what, at)
	}
	if timer.Stop() {
		t.Errorf("%s: Stop returns true, want false", what)
	}
	if timer.Reset(hour) {
		t.Errorf("%s: Reset returns true, want false", what)
	}
	if timer.ResetAt(time.Now().Add(hour)) {
		t.Errorf("%s: ResetAt returns true, want false", what)
	}
	if timer.Free() {
		t.Errorf("%s: Free returns true, want false", what)
	}
}

// eachWorkers runs a test for several numbers of workers; 0 is the default number.
func eachWorkers(t *testing.T, f func(t *testing.T, workers int)) {
	for _, workers := range []int{0, 1, 3, 8} {
		t.Run(fmt.Sprintf("workers %d", workers), func(t *testing.T) { f(t, workers) })
	}
}
