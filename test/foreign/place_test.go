package foreign_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const (
	brief       = 2 * millisecond // a delay that passes within a case
	millisecond = time.Millisecond
	second      = time.Second
	hour        = time.Hour
)

// A place runs functions on a goroutine outside of all bubbles, or on the main goroutine of a bubble.
// Its channels are made outside, so functions can be sent to it from any other place.
type place struct {
	name  string // as bubbleName returns it
	t     *testing.T
	calls chan func(t *testing.T)
	done  chan bool
	ended chan struct{}
}

// newPlace makes a place. If it is a bubble, its clock is advanced by passed. newPlace is called
// outside of all bubbles.
func newPlace(t *testing.T, inBubble bool, passed time.Duration) *place {
	p := &place{t: t, calls: make(chan func(t *testing.T)), done: make(chan bool), ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		if inBubble {
			synctest.Test(t, p.serve)
		} else {
			p.serve(t)
		}
	}()
	p.do(func(*testing.T) {
		p.name = bubbleName()
		if inBubble {
			time.Sleep(passed)
		}
	})
	return p
}

func (p *place) serve(t *testing.T) {
	for f := range p.calls {
		p.run(t, f)
	}
}

func (p *place) run(t *testing.T, f func(t *testing.T)) {
	ok := false
	defer func() { p.done <- ok }()
	f(t)
	ok = true
}

// do runs f in the place and returns when f has returned. The clock of a bubble stops while no such
// f runs. If f fails, do ends the calling goroutine.
func (p *place) do(f func(t *testing.T)) {
	select {
	case p.calls <- f:
	case <-p.ended:
		p.t.FailNow()
	}
	if !<-p.done {
		p.t.FailNow()
	}
}

// end ends the place. A bubble must have no goroutines left.
func (p *place) end() {
	close(p.calls)
	<-p.ended
}

// bubbleName returns a text that identifies the bubble of the calling goroutine, or "" outside of
// all bubbles.
func bubbleName() string {
	buf := make([]byte, 200)
	line, _, _ := strings.Cut(string(buf[:runtime.Stack(buf, false)]), "\n")
	_, name, _ := strings.Cut(line, "synctest bubble ")
	return strings.TrimRight(name, "]:")
}

// A variant says where an object is made and used, and on which clock it is.
type variant struct {
	made  bool // in a bubble
	used  bool // in a bubble, another one if made is true
	ended bool // the bubble in which it was made has ended before it is used

	manual  bool // a manual clock or, for a loop, a virtual one
	workers int  // of a runtime; 0: the default number
	shared  bool // the default runtime
}

func (v variant) String() string {
	text := "on the system clock"
	switch {
	case v.manual:
		text = "on a manual clock"
	case v.shared:
		text = "default"
	case v.workers > 1:
		text += fmt.Sprintf(" with %d workers", v.workers)
	}
	switch {
	case !v.made:
		return text + ", made outside, used in a bubble"
	case v.ended && v.used:
		return text + ", made in a bubble that has ended, used in another"
	case v.ended:
		return text + ", made in a bubble that has ended, used outside"
	case v.used:
		return text + ", made in a bubble, used in another"
	}
	return text + ", made in a bubble, used outside"
}

// variants returns the variants with which a row is tried. Those in which the object is used in a second
// bubble, or after the end of its own, belong to every run if more is true, and FOLIOT_FULL adds the
// rest. A row that needs the place where the object was made is live: it is tried only while that
// exists.
func variants(live, more bool) (all []variant) {
	for _, manual := range []bool{false, true} {
		all = append(all, variant{used: true, manual: manual, workers: 1}, variant{made: true, manual: manual, workers: 1})
		if more || full() {
			all = append(all, variant{made: true, used: true, manual: manual, workers: 1})
			if !live {
				all = append(all, variant{made: true, ended: true, manual: manual, workers: 1})
			}
		}
		if full() && !live {
			all = append(all, variant{made: true, used: true, ended: true, manual: manual, workers: 1})
		}
	}
	if full() {
		all = append(all, variant{used: true, workers: 3}, variant{used: true, shared: true})
	}
	return all
}

// twoPlaces are the place where an object is made, and a foreign one.
type twoPlaces struct {
	variant
	t            *testing.T // of the case, outside of all bubbles
	ownPlace     *place     // where the object is made
	foreignPlace *place
	ownEnded     bool
	soon         context.Context // belongs to no bubble, and ends soon
	cancelSoon   context.CancelFunc

	mu       sync.Mutex
	problems []string
}

// open makes the places. The caller calls close when it is done.
func (p *twoPlaces) open() {
	p.soon, p.cancelSoon = context.WithTimeout(context.Background(), 300*millisecond)
	p.soon.Done() // makes the channel outside of all bubbles
	// Two bubbles have different times.
	if p.ended {
		p.ownPlace, p.foreignPlace = newPlace(p.t, p.made, hour), newPlace(p.t, p.used, 0)
	} else {
		p.ownPlace, p.foreignPlace = newPlace(p.t, p.made, 0), newPlace(p.t, p.used, hour)
	}
}

// close ends the places and reports the problems.
func (p *twoPlaces) close() {
	defer p.cancelSoon()
	p.endOwn()
	p.foreignPlace.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.problems {
		p.t.Error(text)
	}
}

// own runs a function in the place where the object was made, if that has not ended.
func (p *twoPlaces) own(fn func(t *testing.T)) {
	if !p.ownEnded {
		p.ownPlace.do(fn)
	}
}

// foreign runs a function in the foreign place.
func (p *twoPlaces) foreign(fn func(t *testing.T)) {
	if p.ended {
		p.endOwn()
	}
	p.foreignPlace.do(fn)
}

// try makes a call where it is called, and checks its outcome. It reports whether the call has worked.
func (p *twoPlaces) try(t *testing.T, pkg string, want want, call func() any) bool {
	t.Helper()
	got := outcomeOf(pkg, call)
	if want := want(p.variant); got != want {
		t.Errorf("the call %s, want: it %s", got, want)
	}
	return got == itWorks
}

// endOwn ends the place where the object was made.
func (p *twoPlaces) endOwn() {
	if !p.ownEnded {
		p.ownEnded = true
		p.ownPlace.end()
	}
}

// problem records an error. It may be called on any goroutine and in any place.
func (p *twoPlaces) problem(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.problems) < 10 {
		p.problems = append(p.problems, fmt.Sprintf(format, args...))
	}
}
