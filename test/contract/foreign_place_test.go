package contract_test

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

// A bubblePlace runs functions on a goroutine outside of all bubbles, or on the main goroutine of
// a bubble. Its channels are made outside, so functions can be sent to it from any other place.
type bubblePlace struct {
	inBubble bool
	name     string // as bubbleName returns it
	t        *testing.T
	calls    chan func(t *testing.T)
	done     chan bool
	ended    chan struct{}
}

// newPlace makes a place. If it is a bubble, its clock is advanced by passed. newPlace must be
// called outside of all bubbles.
func newPlace(t *testing.T, inBubble bool, passed time.Duration) *bubblePlace {
	p := &bubblePlace{
		inBubble: inBubble,
		t:        t,
		calls:    make(chan func(t *testing.T)),
		done:     make(chan bool),
		ended:    make(chan struct{}),
	}
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

func (p *bubblePlace) serve(t *testing.T) {
	for f := range p.calls {
		p.run(t, f)
	}
}

func (p *bubblePlace) run(t *testing.T, f func(t *testing.T)) {
	ok := false
	defer func() { p.done <- ok }()
	f(t)
	ok = true
}

// do runs f in the place and returns when f has returned. The clock of a bubble stops while no
// such f runs. If f fails, do ends the calling goroutine.
func (p *bubblePlace) do(f func(t *testing.T)) {
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
func (p *bubblePlace) end() {
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

// A setting says where an object is made and where it is used.
type setting struct {
	made  bool // in a bubble
	used  bool // in a bubble, another one if made is true
	ended bool // the bubble in which it was made has ended before it is used
}

func (s setting) String() string {
	switch {
	case !s.made:
		return "made outside, used in a bubble"
	case s.ended && s.used:
		return "made in a bubble that has ended, used in another"
	case s.ended:
		return "made in a bubble that has ended, used outside"
	case s.used:
		return "made in a bubble, used in another"
	}
	return "made in a bubble, used outside"
}

// settings has all settings other than the use of an object where it was made.
var settings = []setting{
	{made: false, used: true},
	{made: true, used: false},
	{made: true, used: true},
	{made: true, used: false, ended: true},
	{made: true, used: true, ended: true},
}

// twoPlaces are the place where an object is made, and a foreign one.
type twoPlaces struct {
	setting
	t            *testing.T   // of the case, outside of all bubbles
	ownPlace     *bubblePlace // where the object is made
	foreignPlace *bubblePlace
	ownEnded     bool
	release      chan struct{} // made outside; closed by releaseNow and releaseSoon
	released     sync.Once

	mu       sync.Mutex
	problems []string
}

// open makes the places. The caller calls close when it is done.
func (p *twoPlaces) open() {
	p.release = make(chan struct{})
	// Two bubbles have different times.
	if p.ended {
		p.ownPlace, p.foreignPlace = newPlace(p.t, p.made, hour), newPlace(p.t, p.used, 0)
	} else {
		p.ownPlace, p.foreignPlace = newPlace(p.t, p.made, 0), newPlace(p.t, p.used, hour)
	}
}

// close ends the places and reports the problems.
func (p *twoPlaces) close() {
	p.releaseNow()
	p.endOwn()
	p.foreignPlace.end()
	p.report()
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

// report fails the test with the recorded problems.
func (p *twoPlaces) report() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.problems {
		p.t.Error(text)
	}
}

// limit returns a context that belongs to no bubble and ends soon.
func (p *twoPlaces) limit() context.Context { return p.limitOf(30 * millisecond) }

func (p *twoPlaces) limitOf(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	p.t.Cleanup(cancel)
	ctx.Done() // makes the channel outside of all bubbles
	return ctx
}

// releaseNow closes release, if it is open.
func (p *twoPlaces) releaseNow() { p.released.Do(func() { close(p.release) }) }

// releaseSoon closes release after a while, from outside.
func (p *twoPlaces) releaseSoon() { time.AfterFunc(20*millisecond, p.releaseNow) }

// foreignPanic calls f and returns the text of its panic, or "" if f does not panic.
func foreignPanic(f func()) (text string) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case error:
			text = v.Error()
		case string:
			text = v
		default:
			text = fmt.Sprintf("a value of type %T", v)
		}
	}()
	f()
	return ""
}

// namesBubble reports whether a text begins with the name of the package and mentions the bubble.
func namesBubble(text, pkg string) bool {
	return strings.HasPrefix(text, pkg+":") && strings.Contains(text, "bubble")
}
