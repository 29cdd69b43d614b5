package main

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dop251/goja"
)

// runSource runs a script on virtual time with the given arguments, and returns its exit code and output.
func runSource(t *testing.T, source string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), append([]string{"-virtual"}, args...), strings.NewReader(source), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestAScriptIsReadFromStandardInput(t *testing.T) {
	code, out, errs := runSource(t, `console.log(process.argv.join())`, "-", "-html", "x")
	if code != 0 || out != "goja,-,-html,x\n" || errs != "" {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
}

func TestWrongCommandLinesAreErrors(t *testing.T) {
	for _, args := range [][]string{{}, {"-no-such-flag", "-"}, {"-virtual"}} {
		if code, out, errs := runSource(t, "", args...); code != 2 || out != "" || !strings.Contains(errs, "usage") {
			t.Errorf("%q: exit %d, %q, %q", args, code, out, errs)
		}
	}
	if code, _, errs := runSource(t, "", "testdata/there is no such file"); code != 1 || errs == "" {
		t.Errorf("no such file: exit %d, %q", code, errs)
	}
	if code, _, errs := runSource(t, "", "-help"); code != 0 || !strings.Contains(errs, "usage") {
		t.Errorf("-help: exit %d, %q", code, errs)
	}
}

func TestTheStackNamesTheFunctionThatFailed(t *testing.T) {
	want := regexp.MustCompile(`^Uncaught .*Error: boom\n\s+at culprit \(-:1:`)
	for name, source := range map[string]string{
		"timer":     "function culprit() { throw new Error('boom') }\nsetTimeout(() => culprit(), 5)",
		"script":    "function culprit() { throw new Error('boom') }\nculprit()",
		"microtask": "function culprit() { throw new Error('boom') }\nqueueMicrotask(culprit)",
		"rejection": "async function culprit() { throw new Error('boom') }\nculprit()",
		"late":      "async function culprit() { await sleep(5); throw new Error('boom') }\nculprit()",
	} {
		code, _, errs := runSource(t, source, "-")
		if !want.MatchString(errs) || code != 1 {
			t.Errorf("%s: exit %d\n%s", name, code, errs)
		}
	}
}

func TestAnInterruptEndsAScriptWhereverItIs(t *testing.T) {
	for name, source := range map[string]string{
		"endless loop":       `console.log('on'); for (;;) {}`,
		"in a callback":      `setTimeout(() => { console.log('on'); try { for (;;) {} } finally { console.log('off') } }, 1)`,
		"endless microtasks": `console.log('on'); (function again() { Promise.resolve().then(again) })()`,
		"endless timers":     `console.log('on'); setInterval(() => {}, 1)`,
		"endless immediates": `console.log('on'); (function again() { setImmediate(again) })()`,
		"a distant timer":    `console.log('on'); setTimeout(() => console.log('off'), 1e9)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, w := io.Pipe()
			code := make(chan int, 1)
			go func() {
				code <- run(ctx, []string{"-"}, strings.NewReader(source), w, io.Discard)
				w.Close()
			}()
			on := make([]byte, 3)
			if _, err := io.ReadFull(r, on); err != nil || string(on) != "on\n" {
				t.Fatalf("%q, %v", on, err)
			}
			cancel()
			if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
				t.Errorf("after the interrupt: %q, %v", rest, err)
			}
			if got := <-code; got != 130 {
				t.Errorf("exit code %d", got)
			}
		})
	}
}

// inBubble runs a script in a synctest bubble and returns its output. Time passes only in block(ms) and between
// callbacks.
func inBubble(t *testing.T, source string) (out string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var stdout bytes.Buffer
		h := NewHost(Options{Out: &stdout, Err: t.Output()})
		h.define(h.vm.GlobalObject(), "block", func(call goja.FunctionCall) goja.Value {
			time.Sleep(h.delay(call.Argument(0)))
			return goja.Undefined()
		})
		if code := h.Run(t.Context(), "script", source); code != 0 {
			t.Errorf("exit code %d", code)
		}
		out = stdout.String()
	})
	return out
}

func TestAnIntervalIsCountedFromTheStartOfItsCallback(t *testing.T) {
	got := inBubble(t, `
		const at = []
		const id = setInterval(() => {
			at.push(Math.round(performance.now()))
			if (at.length === 4) clearInterval(id)
			block(60)
		}, 100)
		setTimeout(() => console.log(at.join()), 1000)`)
	if want := "100,200,300,400\n"; got != want {
		t.Errorf("ticks at %s, want %s", got, want)
	}
}

func TestAnIntervalLongerBusyThanItsPeriodLetsOthersRun(t *testing.T) {
	got := inBubble(t, `
		const order = []
		const id = setInterval(() => {
			order.push('tick')
			if (order.length > 4) clearInterval(id)
			block(30)
		}, 10)
		setTimeout(() => order.push('timer'), 35)
		setTimeout(() => console.log(order.join()), 1000)`)
	if want := "tick,tick,timer,tick,tick\n"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
}

func TestAnIntervalDoesNotOvertakeAnEqualTimeoutOfItsCallback(t *testing.T) {
	got := inBubble(t, `
		const order = []
		let n = 0
		const id = setInterval(() => {
			order.push('tick ' + ++n)
			if (n === 3) clearInterval(id)
			block(7)
			setTimeout(tick => order.push('timeout ' + tick), 50, n)
			block(7)
		}, 50)
		setTimeout(() => console.log(order.join()), 1000)`)
	if want := "tick 1,timeout 1,tick 2,timeout 2,tick 3,timeout 3\n"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
}

func TestNoTimerIsEarlyAfterALongCallback(t *testing.T) {
	got := inBubble(t, `
		setTimeout(() => {
			block(500)
			const armed = performance.now()
			setTimeout(() => console.log(performance.now() - armed >= 20), 20)
		}, 10)`)
	if got != "true\n" {
		t.Error("a timer that was armed late in an iteration ran early")
	}
}

func TestTimersThatHaveRunOrWereClearedAreRemoved(t *testing.T) {
	h := NewHost(Options{Virtual: true, Out: io.Discard, Err: t.Output()})
	code := h.Run(t.Context(), "script", `
		for (let i = 0; i < 100; i++) {
			setTimeout(() => {}, i)
			setImmediate(() => {})
			clearTimeout(setTimeout(() => {}, i))
			let ticks = 0
			const id = setInterval(() => { if (++ticks === 3) clearInterval(id) }, i)
		}`)
	if n := len(h.timers.armed); code != 0 || n != 0 {
		t.Errorf("exit code %d, %d timers are left", code, n)
	}
}

func TestAHostThatEndsDoesNotWaitForBackgroundWork(t *testing.T) {
	released, finished := make(chan struct{}), make(chan struct{})
	var out bytes.Buffer
	h := NewHost(Options{Out: &out, Err: t.Output()})
	h.define(h.vm.GlobalObject(), "slow", func(goja.FunctionCall) goja.Value {
		return h.inBackground(func() (any, error) {
			defer close(finished)
			<-released
			return "result", nil
		})
	})
	code := h.Run(t.Context(), "script", `slow().then(console.log); setTimeout(() => process.exit(4), 5)`)
	close(released)
	<-finished
	if code != 4 || out.Len() > 0 {
		t.Errorf("exit code %d, printed %q", code, &out)
	}
}
