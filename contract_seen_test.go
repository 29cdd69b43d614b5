package foliot_test

import (
	"bytes"
	"log/slog"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/foliot-go/foliot"
)

func TestProfilesShowCallbacksUnderALabel(t *testing.T) {
	r := newRuntime(t, foliot.Options{})
	profile := make(chan string, 1)
	after(t, r, millisecond, func() {
		var b bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
			t.Error(err)
		}
		profile <- b.String()
	})
	if text := receive(t, profile, "the profile"); !strings.Contains(text, `"foliot":"timers"`) {
		t.Error("no goroutine has the label foliot")
	}
}

func TestWorkersThatRetireAndAdoptAreLogged(t *testing.T) {
	var b bytes.Buffer
	r := newRuntime(t, foliot.Options{Workers: 3, Logger: slog.New(slog.NewTextHandler(&b, nil))})
	for range 10 {
		after(t, r, hour, func() {})
	}
	if err := r.Resize(1); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"retired", "adopted", "worker=1", "worker=2", "by=0"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in the log:\n%s", want, b.String())
		}
	}
}
