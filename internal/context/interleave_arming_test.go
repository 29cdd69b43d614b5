package context

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
	"github.com/foliot-go/foliot/internal/interleave"
)

// An arming is a context with a timer, and the steps of the goroutines that decide why it ends. Each
// step takes its locks once. A harness of the engine does nothing by itself.
//
// The steps of the goroutine that makes the context, and then has its CancelFunc:
//
//	t   arm the timer
//	s   store it
//	d   call Done
//	c   call the CancelFunc
//
// The steps of the engine, each of which may find nothing to do:
//
//	F   take the timer, which is due, off the wheel
//	f   call the callback that F has found
//	S   close the engine
//	e   call the functions that S has found
//
// The step a is the end of the context above.
type arming struct {
	eng   engine.Probe
	above CancelCauseFunc
	c     *timerCtx
	timer engine.Timer

	fired, ends []func() // what F and S have found

	fault string // a fault that the walk must find; "": none

	// The oracle.
	state  string  // of the timer: "", "armed", "stopped", "fired", "left"
	called bool    // the callback was called before the timer was stored
	stored bool    // the program has the context
	closed bool    // the engine is closed
	up     *reason // why the context above has ended; nil: it has not
	want   *reason // why the context must have ended; nil: it must not
}

var errAbove = errors.New("above")

// The faults.
const (
	endsAtOnce  = "a callback ends the context although the timer is not stored"
	neverLeft   = "a context that is left counts as late"
	forgetsCall = "a call before the timer is stored is forgotten"
)

func newArming(fault string) *arming {
	root, _ := WithTimeout(Background(), time.Hour)
	parent, cancel := WithCancelCause(root)
	a := &arming{eng: engine.NewProbe(), above: cancel, fault: fault}
	a.eng.Open(a.eng.Shard(0))
	up := nodeOf(parent)
	up.linkToParent()
	a.c = &timerCtx{node: node{parent: parent, above: up}, late: reasonDeadline}
	a.c.cancel = a.c.stop
	return a
}

// end records that the context ends now, for a call of stop.
func (a *arming) end() {
	if a.want != nil {
		return
	}
	switch {
	case a.up != nil:
		a.want = a.up
	case a.state == "armed":
		a.want = reasonCanceled
	case a.state == "left":
		a.want = reasonShutdown
	default:
		a.want = reasonDeadline
	}
	if a.state == "armed" {
		a.state = "stopped"
	}
}

// callback calls the callback.
func (a *arming) callback(f func()) {
	switch {
	case a.fault == endsAtOnce && !a.stored, a.fault == neverLeft && a.stored:
		a.c.checkParent()
		a.c.finish(a.c.late)
	default:
		f()
	}
	if a.stored {
		a.end()
	} else {
		a.called = true
	}
}

// dueAt is when the timer is due, and lateAt is after that.
const (
	dueAt  = int64(engine.ProbeTick)
	lateAt = 10 * dueAt
)

func (a *arming) step(op byte) error {
	refused := a.timer == engine.Timer{}
	switch op {
	case 't':
		t, err := a.eng.NewDeadline(time.Time{}, time.Duration(dueAt), a.c.cancel)
		if closed := errors.Is(err, engine.ErrClosed); closed != a.closed {
			return fmt.Errorf("NewDeadline returns %v, the engine is closed: %t", err, a.closed)
		}
		if err == nil {
			a.timer, a.state = t, "armed"
		}
	case 's':
		if !refused {
			switch a.fault {
			case forgetsCall:
				a.c.timer = a.timer
				a.c.phase.Store(phaseArmed)
			case endsAtOnce:
				a.c.timer = a.timer
				a.c.phase.CompareAndSwap(phaseIdle, phaseArmed)
			default:
				a.c.setTimer(a.timer)
			}
			a.stored = true
			if a.called || a.up != nil { // the check below makes the context look up
				a.end()
			}
		}
	case 'd':
		if !refused {
			a.c.Done()
		}
	case 'c':
		if !refused {
			a.c.cancel()
			a.end()
		}
	case 'F':
		a.fired = a.eng.PopCalls(a.eng.Shard(0), lateAt)
		if due := a.state == "armed"; due != (len(a.fired) == 1) {
			return fmt.Errorf("%d callbacks of a timer that is %q", len(a.fired), a.state)
		} else if due {
			a.state = "fired"
		}
	case 'f':
		for _, f := range a.fired {
			a.callback(f)
		}
	case 'S':
		a.ends = a.eng.CloseShards()
		a.closed = true
		if armed := a.state == "armed"; armed != (len(a.ends) == 1) {
			return fmt.Errorf("%d functions to call for a timer that is %q", len(a.ends), a.state)
		} else if armed {
			a.state = "left"
		}
	case 'e':
		for _, f := range a.ends {
			a.callback(f)
		}
	case 'a':
		a.above(errAbove)
		a.up = &reason{Canceled, errAbove}
		if a.stored && a.want == nil {
			a.want = a.up
			if a.state == "armed" {
				a.state = "stopped"
			}
		}
	}
	return a.check()
}

// check compares the context with the oracle.
func (a *arming) check() error {
	if !a.stored {
		return nil
	}
	var err, cause error
	if a.want != nil {
		err, cause = a.want.err, a.want.cause
	}
	switch {
	case a.c.Err() != err || Cause(a.c) != cause:
		return fmt.Errorf("Err is %v and Cause is %v, want %v and %v", a.c.Err(), Cause(a.c), err, cause)
	case a.want != nil && !isClosed(a.c.Done()):
		return fmt.Errorf("the context has ended, and Done is open")
	case a.want != nil && a.eng.Armed(a.eng.Shard(0)) != 0:
		return fmt.Errorf("the context has ended, and its timer is armed")
	}
	return nil
}

// finish checks that the context has ended, unless nothing has ended it.
func (a *arming) finish() error {
	if a.stored && a.want == nil && (a.state != "armed" || a.up != nil) {
		return fmt.Errorf("the timer is %q, and the context has not ended", a.state)
	}
	a.above(nil)
	return a.check()
}

// walkArmings runs all interleavings of the scripts, one for each actor.
func walkArmings(fault string, scripts ...interleave.Script) (int, error) {
	paths := interleave.Paths{}
	for {
		a := newArming(fault)
		var trace strings.Builder
		left := make([]int, len(scripts))
		for i, s := range scripts {
			left[i] = len(s)
		}
		for i := paths.Actor(left...); i >= 0; i = paths.Actor(left...) {
			op := scripts[i][len(scripts[i])-left[i]]
			left[i]--
			trace.WriteByte(op)
			if err := a.step(op); err != nil {
				return paths.Count, fmt.Errorf("%s: %w", trace.String(), err)
			}
		}
		if err := a.finish(); err != nil {
			return paths.Count, fmt.Errorf("%s: %w", trace.String(), err)
		}
		if !paths.Next() {
			return paths.Count, nil
		}
	}
}

// walkAllArmings runs all scenarios.
func walkAllArmings(fault string) (count int, err error) {
	for _, maker := range []interleave.Script{"ts", "tsd", "tsc", "tsdc"} {
		for _, above := range []interleave.Script{"", "a"} {
			n, err := walkArmings(fault, maker, "Ff", "Se", above)
			count += n
			if err != nil {
				return count, fmt.Errorf("%s with %q: %w", maker, above, err)
			}
		}
	}
	return count, nil
}

func TestEveryInterleavingOfTheTimerOfAContextGivesTheRightReason(t *testing.T) {
	interleave.SkipUnderRace(t)
	count, err := walkAllArmings("")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d interleavings", count)
}

func TestTheInterleavingsOfTheTimerOfAContextFindFaults(t *testing.T) {
	interleave.SkipUnderRace(t)
	for _, fault := range []string{endsAtOnce, neverLeft, forgetsCall} {
		if _, err := walkAllArmings(fault); err == nil {
			t.Errorf("no interleaving finds this fault: %s", fault)
		}
	}
}
