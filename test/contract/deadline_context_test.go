package contract_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
)

type contextKey string

var (
	errSlow = errors.New("too slow")
	errGone = errors.New("gone")
)

// A contextMaker makes contexts: a runtime, or the standard package.
type contextMaker interface {
	WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc)
	WithDeadline(parent context.Context, t time.Time) (context.Context, context.CancelFunc)
	WithTimeoutCause(parent context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc)
	WithDeadlineCause(parent context.Context, t time.Time, cause error) (context.Context, context.CancelFunc)
}

type standardMaker struct{}

func (standardMaker) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(parent, d)
}

func (standardMaker) WithDeadline(parent context.Context, t time.Time) (context.Context, context.CancelFunc) {
	return context.WithDeadline(parent, t)
}

func (standardMaker) WithTimeoutCause(parent context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(parent, d, cause)
}

func (standardMaker) WithDeadlineCause(parent context.Context, t time.Time, cause error) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(parent, t, cause)
}

// A contextStory is a program that makes contexts. It writes down all that it can see of them.
type contextStory struct {
	contextMaker
	pass    func(d time.Duration)
	now     func() time.Time
	text    strings.Builder
	cancels []context.CancelFunc
}

// see writes down all that can be seen of contexts.
func (s *contextStory) see(when string, all ...context.Context) {
	fmt.Fprintf(&s.text, "%s:\n", when)
	for i, ctx := range all {
		done := false
		select {
		case <-ctx.Done():
			done = true
		default:
		}
		at, ok := ctx.Deadline()
		fmt.Fprintf(&s.text, "  %d: %T %v, done %t, Err %v, Cause %v, deadline %v %t, value %v\n",
			i, ctx, ctx, done, ctx.Err(), context.Cause(ctx), at.Round(0), ok, ctx.Value(contextKey("k")))
	}
}

// keep keeps the CancelFunc of a context for the end.
func (s *contextStory) keep(ctx context.Context, cancel context.CancelFunc) context.Context {
	s.cancels = append(s.cancels, cancel)
	return ctx
}

// contextStories has programs that end contexts in different ways.
var contextStories = map[string]func(s *contextStory){
	"the deadline passes": func(s *contextStory) {
		root := context.WithValue(context.Background(), contextKey("k"), 7)
		a := s.keep(s.WithTimeout(root, 2*second))
		b := s.keep(s.WithTimeoutCause(root, 2*second, errSlow))
		c := s.keep(s.WithDeadline(a, s.now().Add(3*second))) // after the deadline of a
		d := s.keep(s.WithDeadlineCause(a, s.now().Add(second), errGone))
		e := s.keep(context.WithCancel(d))
		f := context.WithoutCancel(e)
		all := []context.Context{a, b, c, d, e, f}
		s.see("at first", all...)
		s.pass(second - 1)
		s.see("just before the first deadline", all...)
		s.pass(1)
		s.see("after the first deadline", all...)
		s.pass(second)
		s.see("after the second deadline", all...)
	},
	"the program cancels": func(s *contextStory) {
		a, cancel := s.WithTimeoutCause(context.Background(), hour, errSlow)
		b := s.keep(s.WithTimeout(a, 2*hour))
		c := s.keep(s.WithTimeoutCause(b, second, errGone))
		d, cancelD := context.WithCancelCause(b)
		called := false
		context.AfterFunc(b, func() { called = true })
		stop := context.AfterFunc(c, func() { s.text.WriteString("stopped\n") })
		fmt.Fprintf(&s.text, "stop %t\n", stop())
		cancelD(errGone)
		s.see("after the cancel of d", a, b, c, d)
		cancel()
		cancel()
		s.see("after the cancel of a", a, b, c, d)
		s.pass(0)
		fmt.Fprintf(&s.text, "AfterFunc %t\n", called)
		s.pass(2 * hour)
		s.see("after all deadlines", a, b, c, d)
	},
	"the parent ends": func(s *contextStory) {
		root, cancel := context.WithCancelCause(context.Background())
		limited := s.keep(context.WithTimeout(root, second))
		a := s.keep(s.WithTimeout(limited, hour))
		b := s.keep(s.WithTimeout(root, hour))
		c := s.keep(context.WithTimeout(b, hour/2))
		s.see("at first", a, b, c)
		s.pass(second)
		s.see("after the deadline of a standard parent", a, b, c)
		cancel(errGone)
		s.see("after the end of the root", a, b, c)
		d := s.keep(s.WithTimeout(root, hour))
		e := s.keep(s.WithTimeoutCause(b, hour, errSlow))
		s.see("made below parents that have ended", d, e)
	},
	"the deadline has passed": func(s *contextStory) {
		a := s.keep(s.WithTimeout(context.Background(), 0))
		b := s.keep(s.WithDeadlineCause(context.Background(), s.now().Add(-hour), errSlow))
		c := s.keep(s.WithTimeout(b, hour))
		d := s.keep(s.WithDeadline(context.TODO(), time.Time{}))
		s.see("at first", a, b, c, d)
	},
	"very long": func(s *contextStory) {
		a := s.keep(s.WithTimeout(context.Background(), 1<<63-1))
		b := s.keep(s.WithDeadline(context.Background(), s.now().AddDate(1000, 0, 0)))
		s.see("at first", a, b)
		s.pass(100 * hour)
		s.see("after a while", a, b)
	},
}

// tell runs a program and returns what it has written down.
func (s *contextStory) tell(story func(*contextStory)) string {
	story(s)
	for _, cancel := range s.cancels {
		cancel()
	}
	return s.text.String()
}

func TestContextsOfARuntimeLookLikeStandardOnes(t *testing.T) {
	for name, story := range contextStories {
		t.Run(name, func(t *testing.T) {
			var want, bubble string
			var start time.Time
			pass := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
			synctest.Test(t, func(t *testing.T) {
				start = time.Now()
				want = (&contextStory{contextMaker: standardMaker{}, pass: pass, now: time.Now}).tell(story)
			})
			synctest.Test(t, func(t *testing.T) {
				r := kit.NewRuntime(t, foliot.Options{})
				bubble = (&contextStory{contextMaker: r, pass: pass, now: r.Now}).tell(story)
				if n := r.Stats().Armed; n != 0 {
					t.Errorf("%d timers are armed when all contexts are cancelled", n)
				}
			})
			if bubble != want {
				t.Errorf("in a bubble:\n%s\nwant\n%s", bubble, want)
			}
			synctest.Test(t, func(t *testing.T) { // so that standard contexts have the same time
				clock := foliot.NewManualClock(start)
				r := kit.NewRuntime(t, foliot.Options{Clock: clock})
				got := (&contextStory{contextMaker: r, now: r.Now, pass: func(d time.Duration) {
					clock.Advance(d)
					pass(d)
				}}).tell(story)
				if got != want {
					t.Errorf("on a manual clock:\n%s\nwant\n%s", got, want)
				}
				if n := r.Stats().Armed; n != 0 {
					t.Errorf("on a manual clock, %d timers are armed when all contexts are cancelled", n)
				}
			})
		})
	}
}

func TestOnTheSystemClockContextsEndAfterTheirDeadline(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		for _, d := range []time.Duration{1, microsecond, 100 * microsecond, 5 * millisecond} {
			began := time.Now()
			ctx, cancel := r.WithTimeout(context.Background(), d)
			child, cancelChild := context.WithCancel(ctx)
			<-child.Done()
			if took := time.Since(began); took < d {
				t.Errorf("a context with a timeout of %v ends after %v", d, took)
			}
			if ctx.Err() != context.DeadlineExceeded || child.Err() != context.DeadlineExceeded {
				t.Errorf("Err is %v, and of a standard child %v, want %v", ctx.Err(), child.Err(), context.DeadlineExceeded)
			}
			cancel()
			cancelChild()
		}
	})
}

func TestAllFormsOfContextsEndOnEachClock(t *testing.T) {
	const d = 5 * millisecond
	for name, form := range map[string]struct {
		make  func(r *foliot.Runtime) (context.Context, context.CancelFunc)
		cause error
	}{
		"WithTimeout": {func(r *foliot.Runtime) (context.Context, context.CancelFunc) {
			return r.WithTimeout(context.Background(), d)
		}, context.DeadlineExceeded},
		"WithDeadline": {func(r *foliot.Runtime) (context.Context, context.CancelFunc) {
			return r.WithDeadline(context.Background(), r.Now().Add(d))
		}, context.DeadlineExceeded},
		"WithTimeoutCause": {func(r *foliot.Runtime) (context.Context, context.CancelFunc) {
			return r.WithTimeoutCause(context.Background(), d, errSlow)
		}, errSlow},
		"WithDeadlineCause": {func(r *foliot.Runtime) (context.Context, context.CancelFunc) {
			return r.WithDeadlineCause(context.Background(), r.Now().Add(d), errSlow)
		}, errSlow},
	} {
		t.Run(name, func(t *testing.T) {
			eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
				began := r.Now()
				ctx, cancel := form.make(r)
				defer cancel()
				c.pass(d)
				<-ctx.Done()
				if took := r.Now().Sub(began); took < d {
					t.Errorf("the context ends after %v, want %v", took, d)
				}
				wantContext(t, "the context", ctx, context.DeadlineExceeded, form.cause)
			})
		})
	}
}

// The deadline of the parent is one of the system clock, on which the manual clock is in the past.
func TestTheDeadlineOfAParentIsComparedAsATime(t *testing.T) {
	clock := foliot.NewManualClock(time.Now().Add(-hour))
	r := kit.NewRuntime(t, foliot.Options{Clock: clock})
	parent, cancelParent := context.WithTimeout(context.Background(), hour)
	defer cancelParent()
	for _, test := range []struct {
		d     time.Duration
		armed int
	}{{time.Minute, 1}, {3 * hour, 0}} {
		ctx, cancel := r.WithTimeout(parent, test.d)
		if n := r.Stats().Armed; n != test.armed {
			t.Errorf("with a timeout of %v, %d timers are armed, want %d", test.d, n, test.armed)
		}
		want, _ := parent.Deadline()
		if test.armed == 1 {
			want = r.Now().Add(test.d)
		}
		if at, ok := ctx.Deadline(); !ok || !at.Equal(want) {
			t.Errorf("with a timeout of %v, Deadline returns %v, %t, want %v", test.d, at, ok, want)
		}
		clock.Advance(10 * time.Minute)
		if ended := ctx.Err() != nil; ended != (test.armed == 1) {
			t.Errorf("with a timeout of %v, Err is %v after ten minutes", test.d, ctx.Err())
		}
		cancel()
	}
}
