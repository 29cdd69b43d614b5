package contract_test

import (
	"bytes"
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

func TestWorkersThatRetireAndAdoptAreLogged(t *testing.T) {
	var b bytes.Buffer
	r := kit.NewRuntime(t, foliot.Options{
		Workers: 3, Logger: slog.New(slog.NewTextHandler(&b, nil)),
	})
	for range 10 {
		kit.After(t, r, hour, func() {})
	}
	if err := r.Resize(1); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"retired", "adopted", "worker=1", "worker=2", "by=0"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got the log\n%s, want %q in it", b.String(), want)
		}
	}
}
