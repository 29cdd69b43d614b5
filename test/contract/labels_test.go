package contract_test

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	foliottime "github.com/foliot-go/foliot/time"
)

// hasLabel reports whether the calling goroutine has a profile label.
func hasLabel(t *testing.T, label string) bool {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		t.Error(err)
	}
	for _, group := range strings.Split(b.String(), "\n\n") {
		if strings.Contains(group, "contract_test.hasLabel") {
			return strings.Contains(group, label)
		}
	}
	t.Error("the goroutine is not in the profile")
	return false
}

func TestAGoroutineOfOptionsGoHasNoLabelOfTheRuntime(t *testing.T) {
	seen := make(chan bool, 2)
	r := kit.NewRuntime(t, foliot.Options{Go: func(f func()) {
		go func() {
			f()
			seen <- hasLabel(t, `"foliot":`)
		}()
	}})
	kit.After(t, r, 0, func() { seen <- hasLabel(t, `"foliot":`) })
	if testkit.Receive(t, seen, "the callback") || testkit.Receive(t, seen, "the goroutine afterwards") {
		t.Error("a goroutine that Options.Go started has the label foliot")
	}
}

func TestAGoroutineOfTheDropInsAfterFuncHasNoLabelOfTheRuntime(t *testing.T) {
	seen := make(chan bool, 1)
	foliottime.AfterFunc(millisecond, func() { seen <- hasLabel(t, `"foliot":`) })
	if testkit.Receive(t, seen, "the function") {
		t.Error("the goroutine of a function has the label foliot")
	}
}

func TestLabelsThatACallbackSetsAreResetBeforeTheNext(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	seen := make(chan bool, 2)
	kit.After(t, r, millisecond, func() {
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("left", "behind")))
	})
	kit.After(t, r, millisecond, func() {
		seen <- hasLabel(t, `"left":`)
		seen <- hasLabel(t, `"foliot":`)
	})
	if testkit.Receive(t, seen, "the next callback") {
		t.Error("the callback has a label of the previous callback")
	}
	if !testkit.Receive(t, seen, "the next callback") {
		t.Error("the callback does not have the label foliot")
	}
}
