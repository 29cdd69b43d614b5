package contract_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestProfilesShowCallbacksUnderALabel(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	profile := make(chan string, 1)
	kit.After(t, r, millisecond, func() {
		var b bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
			t.Error(err)
		}
		profile <- b.String()
	})
	text := testkit.Receive(t, profile, "the profile")
	if label := `"foliot":"timers"`; !strings.Contains(text, label) {
		t.Errorf("no goroutine has the label %s", label)
	}
}

func TestWorkersThatRetireAreLoggedInOneLine(t *testing.T) {
	var log testkit.LogRecorder
	r := kit.NewRuntime(t, foliot.Options{Workers: 5, Logger: slog.New(&log)})
	for range 100 {
		kit.After(t, r, hour, func() {})
	}
	resize := func(workers int) []string {
		t.Helper()
		log.Clear()
		if err := r.Resize(workers); err != nil {
			t.Fatal(err)
		}
		return log.Records()
	}
	got := resize(2)
	want := fmt.Sprintf("foliot: workers have retired; the other workers have adopted their timers retired=3 workers=2 timers=%d", r.Stats().Migrated)
	if len(got) != 1 || got[0] != want {
		t.Errorf("got the log %q, want %q", got, want)
	}
	for _, workers := range []int{2, 4} {
		if got := resize(workers); len(got) != 0 {
			t.Errorf("Resize to %d logs %q, and no worker has retired", workers, got)
		}
	}
}
