package loop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/loop"
)

// wantAdvice checks that f panics with a text that begins with the name of the method and goes on
// with what to do instead.
func wantAdvice(t *testing.T, method string, f func()) {
	t.Helper()
	defer func() {
		text := fmt.Sprint(recover())
		if _, advice, ok := strings.Cut(text, "; "); !ok || advice == "" || !strings.HasPrefix(text, "loop: "+method+" ") {
			t.Errorf("%s panics with %q, want the name of the method and advice", method, text)
		}
	}()
	f()
}

func TestANilCallbackPanicsWithAdvice(t *testing.T) {
	l := newLoop(t, loop.Options{})
	for method, call := range map[string]func(){
		"CallSoon":       func() { l.CallSoon(nil) },
		"CallLater":      func() { l.CallLater(second, nil) },
		"CallAt":         func() { l.CallAt(second, nil) },
		"CallLaterBatch": func() { l.CallLaterBatch(nil, []loop.Call{{After: 0, Func: noop}, {}}) },
		"Post":           func() { l.Post(nil) },
		"PostBatch":      func() { l.PostBatch([]func(){noop, nil}) },
	} {
		wantAdvice(t, method, call)
	}
	wantStep(t, "after calls that were refused", l, 0, false)
}

func TestStepInsideOfTheLoopPanicsWithAdvice(t *testing.T) {
	l := newLoop(t, loop.Options{})
	l.CallSoon(func() { wantAdvice(t, "Step", func() { l.Step() }) })
	wantStep(t, "a callback that calls Step", l, 0, false)
	l.CallSoon(func() { wantAdvice(t, "Step", func() { l.Step() }) })
	runUntilIdle(t, l)
}
