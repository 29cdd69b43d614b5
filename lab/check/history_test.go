package check

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// A run has the times of the first and the last statement of a callback.
type run struct{ start, end int64 }

// A history has all events of one timer, from its creation until the runtime was closed.
type history struct {
	timer      int
	resolution time.Duration
	calls      []event // in any order
	runs       []run   // in the order in which they happened
	close, end int64   // the call of Shutdown, and its return
}

var (
	errOverlap           = errors.New("a callback overlaps with itself")
	errRunsAfterShutdown = errors.New("a callback ends after Shutdown")
	errIllegal           = errors.New("the history is not linearizable")
)

// events returns the calls, the runs as operations of the runtime, and a Shutdown at which the
// timer was armed or not.
func (h history) events(armed bool) ([]event, error) {
	es := slices.Clone(h.calls)
	var idle int64 // since when the callback has not been running
	for i, r := range h.runs {
		if r.start < idle || r.end < r.start {
			return nil, fmt.Errorf("%w: run %d is from %d to %d, the previous one ended at %d",
				errOverlap, i, r.start, r.end, idle)
		}
		if r.end > h.end {
			return nil, fmt.Errorf("%w: run %d ended at %d, Shutdown at %d",
				errRunsAfterShutdown, i, r.end, h.end)
		}
		es = append(es, event{
			timer: h.timer, client: clientRuntime, op: opRun,
			call: idle, ret: r.start, at: r.start, ok: true,
		})
		idle = r.end
	}
	es = append(es, event{
		timer: h.timer, client: clientShutdown, op: opShutdown, call: h.close, ret: h.end, ok: armed,
	})
	slices.SortStableFunc(es, func(a, b event) int { return cmp.Compare(a.call, b.call) })
	return es, nil
}

func operations(es []event) []porcupine.Operation {
	ops := make([]porcupine.Operation, len(es))
	for i, e := range es {
		ops[i] = porcupine.Operation{ClientId: e.client, Input: e, Call: e.call, Return: e.ret}
	}
	return ops
}

// A verdict says whether a history is legal if the timer was armed at the end, and if it was not.
// Both are true, for example, if a Stop and a Reset overlapped.
type verdict struct{ armed, idle bool }

// judge returns an error if h is illegal in both cases.
func (h history) judge() (v verdict, err error) {
	m := model(h.resolution)
	for armed, legal := range map[bool]*bool{true: &v.armed, false: &v.idle} {
		es, err := h.events(armed)
		if err != nil {
			return v, err
		}
		*legal = porcupine.CheckOperations(m, operations(es))
	}
	if !v.armed && !v.idle {
		return v, errIllegal
	}
	return v, nil
}

// String lists the events by the time of their call.
func (h history) String() string {
	es, err := h.events(false)
	if err != nil {
		withoutRuns := h
		withoutRuns.runs = nil
		es, _ = withoutRuns.events(false)
	}
	var b strings.Builder
	for _, e := range es {
		what := e.String()
		if e.op == opShutdown {
			what = "Shutdown"
		}
		fmt.Fprintf(&b, "%12d .. %12d  %-8s  %s\n", e.call, e.ret, clientName(e.client), what)
	}
	for i, r := range h.runs {
		fmt.Fprintf(&b, "callback %d: %d .. %d\n", i, r.start, r.end)
	}
	return b.String()
}

// Clients of events. Those below clientRuntime are goroutines of a round.
const (
	clientRuntime  = 20 + iota // the runtime
	clientCallback             // the timer's callback
	clientSettle               // settle, at the end of a batch
	clientShutdown             // Shutdown
)

func clientName(c int) string {
	switch c {
	case clientRuntime:
		return "runtime"
	case clientCallback:
		return "callback"
	case clientSettle:
		return "settle"
	case clientShutdown:
		return "Shutdown"
	}
	return fmt.Sprintf("g%d", c)
}

// draw writes a picture of h, with a timer that is not armed at the end, to a file that go test
// -artifacts keeps.
func (h history) draw(t *testing.T) {
	t.Helper()
	es, err := h.events(false)
	if err != nil {
		return
	}
	m := model(h.resolution)
	_, info := porcupine.CheckOperationsVerbose(m, operations(es), 0)
	if err := porcupine.VisualizePath(m, info, filepath.Join(t.ArtifactDir(), "history.html")); err != nil {
		t.Logf("no picture: %v", err)
	}
}
