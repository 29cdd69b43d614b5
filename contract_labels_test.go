package foliot_test

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/foliot-go/foliot"
	foliottime "github.com/foliot-go/foliot/time"
)

// labelled reports whether the calling goroutine has a label.
func labelled(t *testing.T, label string) bool {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		t.Error(err)
	}
	for _, group := range strings.Split(b.String(), "\n\n") {
		if strings.Contains(group, "foliot_test.labelled") {
			return strings.Contains(group, label)
		}
	}
	t.Error("the goroutine is not in the profile")
	return false
}

func TestAGoroutineOfOptionsGoHasNoLabelOfTheRuntime(t *testing.T) {
	seen := make(chan bool, 2)
	r := newRuntime(t, foliot.Options{Go: func(f func()) {
		go func() {
			f()
			seen <- labelled(t, `"foliot":`)
		}()
	}})
	after(t, r, 0, func() { seen <- labelled(t, `"foliot":`) })
	if receive(t, seen, "the callback") || receive(t, seen, "the goroutine afterwards") {
		t.Error("a goroutine that Options.Go started has the label foliot")
	}
}

func TestAGoroutineOfTheDropInsAfterFuncHasNoLabelOfTheRuntime(t *testing.T) {
	seen := make(chan bool, 1)
	foliottime.AfterFunc(millisecond, func() { seen <- labelled(t, `"foliot":`) })
	if receive(t, seen, "the function") {
		t.Error("the goroutine of a function has the label foliot")
	}
}

func TestLabelsThatACallbackSetsAreGoneInTheNext(t *testing.T) {
	r := newRuntime(t, foliot.Options{Workers: 1})
	seen := make(chan bool, 2)
	after(t, r, millisecond, func() {
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("left", "behind")))
	})
	after(t, r, millisecond, func() {
		seen <- labelled(t, `"left":`)
		seen <- labelled(t, `"foliot":`)
	})
	if receive(t, seen, "the next callback") {
		t.Error("a label of the callback before is there")
	}
	if !receive(t, seen, "the next callback") {
		t.Error("the label foliot is not there")
	}
}
