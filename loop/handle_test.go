package loop

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/foliot-go/foliot/internal/testkit"
)

func noop() {}

func TestAHandleIsAComparableValueOfAtMost32Bytes(t *testing.T) {
	if size := unsafe.Sizeof(Handle{}); size > 32 {
		t.Errorf("a Handle has %d bytes, want at most 32", size)
	}
	l := New(Options{})
	a, b := l.CallSoon(noop), l.CallSoon(noop)
	if same := a; a == b || a != same {
		t.Errorf("%v == %v is %t, want false; %v == %v is %t, want true",
			a, b, a == b, a, same, a == same)
	}
}

func TestNamesAreLoggedAndRemovedAfterTheCall(t *testing.T) {
	var log testkit.LogRecorder
	l := New(Options{SlowCallback: time.Millisecond, Logger: slog.New(&log)})
	slow := func() { time.Sleep(3 * time.Millisecond) }
	h := l.CallLater(0, slow)
	if !h.SetName("tortoise") || h.Name() != "tortoise" || !strings.Contains(h.String(), `"tortoise"`) {
		t.Errorf("the name of %v is %q, want tortoise", h, h.Name())
	}
	l.Post(slow)
	l.CallSoon(noop).SetName("hare")
	cancelled := l.CallSoon(noop)
	cancelled.SetName("cancelled")
	cancelled.Cancel()
	l.RunUntilIdle(context.Background())
	named, unnamed := 0, 0
	for _, record := range log.Records() {
		switch {
		case strings.Contains(record, "hare"): // a busy machine may make it slow
		case strings.Contains(record, "name=tortoise"):
			named++
		case strings.Contains(record, "TestNamesAreLogged") && !strings.Contains(record, "name="):
			unnamed++
		default:
			t.Errorf("unexpected record %q", record)
		}
	}
	if named != 1 || unnamed != 1 {
		t.Errorf("%d named and %d unnamed callbacks are logged, want one each: %q",
			named, unnamed, log.Records())
	}
	if l.state.Load().names != nil {
		t.Error("the map of names is kept after the last named callback")
	}
	if h.SetName("late") || h.Name() != "" {
		t.Errorf("a stale handle has the name %q", h.Name())
	}
}
