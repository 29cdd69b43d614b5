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

// run is one execution of a timer's callback: its first and its last statement.
type run struct{ start, end int64 }

// history is all that happened to one timer, from its creation until the runtime was
// closed.
type history struct {
	timer      int
	resolution time.Duration
	calls      []event // in any order
	runs       []run   // in the order in which they happened
	close, end int64   // the call of Shutdown, and its return
}

var (
	errOverlap = errors.New("a callback runs concurrently with itself")
	errOutlive = errors.New("a callback runs on after Shutdown")
	errIllegal = errors.New("the history is not linearizable")
)

// events are the calls, the runs as operations of the runtime, and the end at which
// the timer is armed or not, ready to be judged.
func (h history) events(armed bool) ([]event, error) {
	es := slices.Clone(h.calls)
	var idle int64 // since when the callback has not been running
	for i, r := range h.runs {
		if r.start < idle || r.end < r.start {
			return nil, fmt.Errorf("%w: run %d is from %d to %d, the one before ended at %d", errOverlap, i, r.start, r.end, idle)
		}
		if r.end > h.end {
			return nil, fmt.Errorf("%w: run %d ended at %d, Shutdown at %d", errOutlive, i, r.end, h.end)
		}
		es = append(es, event{timer: h.timer, client: runner, kind: ran, call: idle, ret: r.start, at: r.start, ok: true})
		idle = r.end
	}
	es = append(es, event{timer: h.timer, client: closer, kind: shut, call: h.close, ret: h.end, ok: armed})
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

// verdict is whether a history is legal if at the end the timer was armed, and if it
// was not. It can be both, as when a Stop and a Reset overlapped.
type verdict struct{ armed, idle bool }

// judge answers an error if h is illegal either way.
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
	sane := h
	es, err := h.events(false)
	if err != nil {
		sane.runs = nil
		es, _ = sane.events(false)
	}
	var b strings.Builder
	for _, e := range es {
		what := e.String()
		if e.kind == shut {
			what = "Shutdown"
		}
		fmt.Fprintf(&b, "%12d .. %12d  %-8s  %s\n", e.call, e.ret, clientName(e.client), what)
	}
	for i, r := range h.runs {
		fmt.Fprintf(&b, "callback %d: %d .. %d\n", i, r.start, r.end)
	}
	return b.String()
}

// Clients other than the goroutines of a round, which are numbered from 0.
const (
	runner  = 20 + iota // the runtime
	own                 // the timer's callback
	sweeper             // the end of a batch
	closer              // Shutdown
)

func clientName(c int) string {
	switch c {
	case runner:
		return "runtime"
	case own:
		return "callback"
	case sweeper:
		return "sweeper"
	case closer:
		return "closer"
	}
	return fmt.Sprintf("g%d", c)
}

// draw writes porcupine's picture of h, as it should have ended, where go test
// -artifacts keeps it.
func (h history) draw(t *testing.T) {
	t.Helper()
	es, err := h.events(false)
	if err != nil {
		return
	}
	m := model(h.resolution)
	_, info := porcupine.CheckOperationsVerbose(m, operations(es), 0)
	if err := porcupine.VisualizePath(m, info, filepath.Join(t.ArtifactDir(), "history.html")); err != nil {
		t.Logf("no drawing: %v", err)
	}
}
