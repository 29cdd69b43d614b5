package contract_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

// A Context is valid during a poll. In these cases the poll runs a function in the foreign place
// that uses the Context, and waits for it.

var contextRows = []foreignRow{
	{"Context.Now", notEnded, func(f *foreignTest) {
		f.poll(&foreignPoll{use: func(t *testing.T, p *foreignPoll, cx *foliot.Context) {
			if got := cx.Now(); got != p.now {
				t.Errorf("Now returns %v, want %v as in the place of the runtime", got, p.now)
			}
		}})
	}},
	{"Context.Handle", notEnded, func(f *foreignTest) {
		f.poll(&foreignPoll{use: func(t *testing.T, p *foreignPoll, cx *foliot.Context) {
			if got := cx.Handle(); got != p.handle {
				t.Errorf("Handle returns %v, want %v", got, p.handle)
			}
		}})
	}},
	{"Context.WakeAfter", notEnded, func(f *foreignTest) {
		f.poll(&foreignPoll{lasts: brief, use: func(t *testing.T, p *foreignPoll, cx *foliot.Context) {
			p.accept(t, "WakeAfter", func() { cx.WakeAfter(brief) })
		}})
	}},
	{"Context.WakeAt", notEnded, func(f *foreignTest) {
		f.poll(&foreignPoll{lasts: brief, use: func(t *testing.T, p *foreignPoll, cx *foliot.Context) {
			p.at = p.now + 3*brief
			p.accept(t, "WakeAt", func() { cx.WakeAt(p.at) })
		}})
	}},
	{"Context.CancelWake", notEnded, func(f *foreignTest) {
		f.poll(&foreignPoll{use: func(t *testing.T, p *foreignPoll, cx *foliot.Context) {
			if !cx.CancelWake() || cx.CancelWake() {
				t.Error("CancelWake does not return true and then false")
			}
		}})
	}},
	{"Delay.Poll", notEnded, func(f *foreignTest) {
		d := foliot.NewDelay(brief)
		f.poll(&foreignPoll{
			lasts: brief,
			use: func(t *testing.T, p *foreignPoll, cx *foliot.Context) {
				p.accept(t, "Delay.Poll", func() {
					if d.Poll(cx) {
						t.Error("Delay.Poll returns true at once")
					}
				})
			},
			next: func(cx *foliot.Context) {
				if !d.Poll(cx) {
					f.problem("Delay.Poll returns false when the task is polled again")
				}
			},
		})
	}},
	{"Delay.Reset", notEnded, func(f *foreignTest) {
		d := foliot.NewDelay(hour)
		f.poll(&foreignPoll{lasts: brief, use: func(t *testing.T, p *foreignPoll, cx *foliot.Context) {
			d.Reset(brief)
			p.accept(t, "Delay.Poll", func() { d.Poll(cx) })
		}})
	}},
	{"Interval.Poll", notEnded, func(f *foreignTest) {
		i, err := foliot.NewInterval(brief, foliot.Skip)
		if err != nil {
			f.t.Fatal(err)
		}
		f.poll(&foreignPoll{
			lasts: brief,
			use: func(t *testing.T, p *foreignPoll, cx *foliot.Context) {
				p.accept(t, "Interval.Poll", func() {
					if n := i.Poll(cx); n != 0 {
						t.Errorf("Interval.Poll returns %d at once", n)
					}
				})
			},
			next: func(cx *foliot.Context) {
				if n := i.Poll(cx); n != 1 {
					f.problem("Interval.Poll returns %d when the task is polled again, want 1", n)
				}
			},
		})
	}},
	{"Interval.Reset", notEnded, func(f *foreignTest) {
		i := foliot.MustInterval(hour, foliot.Skip)
		f.poll(&foreignPoll{lasts: brief, use: func(t *testing.T, p *foreignPoll, cx *foliot.Context) {
			i.Reset(brief)
			p.accept(t, "Interval.Poll", func() { i.Poll(cx) })
		}})
	}},
}

// A foreignPoll is a task whose second poll uses its Context in the foreign place.
type foreignPoll struct {
	// lasts is how long the second poll lasts before it calls use.
	lasts time.Duration
	use   func(t *testing.T, p *foreignPoll, cx *foliot.Context) // runs in the foreign place
	// next is called in the third poll if it is not nil.
	next func(cx *foliot.Context)

	f      *foreignTest
	handle foliot.TaskHandle
	polls  atomic.Int64

	// Written by the second poll.
	now   time.Duration // the result of Now
	due   time.Time     // the third poll must not begin before this
	at    time.Duration // if not 0, the third poll must not begin before Now returns this
	again bool          // use has requested a third poll and was not refused
}

// poll runs the task. Between its first two polls it has a deadline in an hour.
func (f *foreignTest) poll(p *foreignPoll) {
	p.f = f
	f.startAlone()
	f.own(func(t *testing.T) {
		p.handle = f.mustSpawn(t, p.Poll)
		f.within(t, "the first poll", func() bool {
			return p.polls.Load() == 1 && f.rt.Stats().Running == 0
		})
		if !p.handle.Wake() {
			t.Error("Wake returns false")
		}
		f.within(t, "the second poll ends", func() bool { return p.polls.Load() >= 2 })
		if p.again {
			f.within(t, "the task is polled as requested", func() bool { return p.polls.Load() >= 3 })
		}
		p.handle.Abort()
		f.within(t, "the task ends", func() bool { return f.rt.Stats().Tasks == f.before.Tasks })
	})
}

func (p *foreignPoll) Poll(cx *foliot.Context) foliot.Status {
	switch p.polls.Load() {
	case 0:
		cx.WakeAfter(hour)
	case 1:
		p.now = cx.Now()
		if p.f.clock == nil {
			time.Sleep(p.lasts)
		}
		p.due = p.f.now().Add(p.lasts)
		p.f.foreign(func(t *testing.T) { p.use(t, p, cx) })
	default:
		left := p.due.Sub(p.f.now())
		if p.at != 0 {
			left = p.at - cx.Now()
		}
		if left > 0 {
			p.f.problem("the task is polled %v early", left)
		}
		if p.next != nil {
			p.next(cx)
		}
	}
	p.polls.Add(1)
	return foliot.Pending
}

// accept calls a method that requests another poll and has no result. It must work, or panic with a
// text that names the bubble.
func (p *foreignPoll) accept(t *testing.T, what string, f func()) {
	t.Helper()
	text := foreignPanic(f)
	p.again = text == ""
	if text != "" && !namesBubble(text, "foliot") {
		t.Errorf("%s panics with %q", what, text)
	}
}
