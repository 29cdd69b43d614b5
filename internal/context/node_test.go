package context

import (
	std "context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"
)

// nodeOf returns the node of a context of this package.
func nodeOf(ctx Context) *node { return ctx.Value(nodeKey).(*node) }

// listLen returns the number of nodes in the list of a node.
func (n *node) listLen() (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for below := n.children; below != nil; below = below.next {
		count++
	}
	return count
}

// childrenOf returns the number of contexts in the list of a standard context.
func childrenOf(ctx Context) int {
	return reflect.ValueOf(ctx).Elem().FieldByName("children").Len()
}

// isClosed reports whether a channel is closed.
func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func TestACancelledContextIsTakenOffTheListOfItsParent(t *testing.T) {
	parent, cancel := WithTimeout(Background(), time.Hour)
	defer cancel()
	n := nodeOf(parent)
	var cancels []CancelFunc
	for i := range 6 {
		child, cancelChild := WithCancel(parent)
		if i%2 == 1 {
			child, cancelChild = WithTimeout(parent, time.Minute)
		}
		child.Done()
		cancels = append(cancels, cancelChild)
	}
	for i, k := range []int{2, 5, 0, 1, 4, 3} { // from the middle and from both ends
		if l := n.listLen(); l != 6-i {
			t.Fatalf("%d in the list, want %d", l, 6-i)
		}
		cancels[k]()
		cancels[k]()
	}
	if l := n.listLen(); l != 0 {
		t.Errorf("%d in the list after the last cancel", l)
	}
}

// One goroutine puts the context into the list, the other takes it out.
func TestAContextThatEndsDuringTheFirstDoneIsNotLeftInTheList(t *testing.T) {
	parent, cancel := WithTimeout(Background(), time.Hour)
	defer cancel()
	for range 20_000 {
		child, cancelChild := WithTimeout(parent, time.Minute)
		var both sync.WaitGroup
		both.Go(func() { child.Done() })
		cancelChild()
		both.Wait()
	}
	if l := nodeOf(parent).listLen(); l != 0 {
		t.Errorf("%d ended contexts are in the list of their parent", l)
	}
}

func TestOnlyWaitedContextsAndParentsAreInLists(t *testing.T) {
	top, cancel := WithTimeout(Background(), time.Hour)
	defer cancel()
	middle, cancelMiddle := WithCancel(top)
	defer cancelMiddle()
	if l := nodeOf(top).listLen(); l != 0 {
		t.Errorf("%d in the list, want none before Done", l)
	}
	leaf, cancelLeaf := WithCancel(middle)
	defer cancelLeaf()
	if top, middle := nodeOf(top).listLen(), nodeOf(middle).listLen(); top != 1 || middle != 0 {
		t.Errorf("%d and %d in the lists, want 1 and 0 after a context is made below", top, middle)
	}
	leaf.Done()
	if top, middle := nodeOf(top).listLen(), nodeOf(middle).listLen(); top != 1 || middle != 1 {
		t.Errorf("%d and %d in the lists, want 1 and 1 after Done", top, middle)
	}
}

// beginToEnd is the first half of finishLocked. It returns the second half.
func (n *node) beginToEnd(r *reason) (rest func()) {
	n.mu.Lock()
	n.reason = r
	n.phase.Store(phaseEnding)
	return func() {
		if n.bridge != nil {
			n.bridge.fire()
		} else {
			close(n.done)
		}
		n.phase.Store(phaseEnded)
		n.mu.Unlock()
	}
}

// ownErr is a wrapper with another error, so that Cause does not call Err of the context in it.
type ownErr struct{ Context }

func (ownErr) Err() error { return errors.New("own") }

func TestAnswersOfAnEndWaitForDoneToBeClosed(t *testing.T) {
	for name, ask := range map[string]func(Context) error{
		"Err":   func(ctx Context) error { return ctx.Err() },
		"Cause": func(ctx Context) error { return Cause(ctx) },
		"Done": func(ctx Context) error {
			if !isClosed(ctx.Done()) {
				return errors.New("open")
			}
			return Canceled
		},
		"the cause of a wrapper": func(ctx Context) error { return Cause(ownErr{ctx}) },
	} {
		for _, withBridge := range []bool{false, true} {
			ctx, cancel := WithTimeout(Background(), time.Hour)
			ctx.Done()
			if withBridge {
				ctx.Value(standardKey)
			}
			rest := nodeOf(ctx).beginToEnd(reasonCanceled)
			answer := make(chan error, 1)
			go func() { answer <- ask(ctx) }()
			select {
			case err := <-answer:
				t.Errorf("%s, with a bridge %t: %v before Done is closed", name, withBridge, err)
				answer <- err
			case <-time.After(20 * time.Millisecond):
			}
			rest()
			if err := <-answer; err != Canceled {
				t.Errorf("%s, with a bridge %t: %v, want %v", name, withBridge, err, Canceled)
			}
			cancel()
		}
	}
}

func TestAContextThatHasEndedIsNotLinked(t *testing.T) {
	parent, cancel := WithTimeout(Background(), time.Hour)
	defer cancel()
	child, cancelChild := WithCancel(parent)
	cancelChild()
	n := nodeOf(child)
	n.raisePhase(phaseWaited)
	if l := nodeOf(parent).listLen(); l != 0 || !isClosed(n.done) {
		t.Errorf("%d in the list of the parent, the channel is closed: %t", l, isClosed(n.done))
	}
}

// A goroutine ends the context in the middle, and has not told the others yet.
func TestContextsBelowKnowOfAnEndThatIsKnown(t *testing.T) {
	top, cancel := WithTimeout(Background(), time.Hour)
	defer cancel()
	ctx := top
	var all []Context
	for range 4 {
		var cancelChild CancelFunc
		ctx, cancelChild = WithCancel(ctx)
		defer cancelChild()
		all = append(all, ctx)
	}
	second := nodeOf(all[1])
	second.mu.Lock() // holds up the goroutine that tells it
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		cancel()
	}()
	for !nodeOf(top).isEnding() {
		time.Sleep(time.Millisecond)
	}
	known := make(chan error, 1)
	go func() {
		if top.Err() != nil {
			known <- all[3].Err()
		}
	}()
	select {
	case err := <-known:
		t.Errorf("the first context has ended, and Err of the last is %v", err)
		known <- err
	case <-time.After(20 * time.Millisecond):
	}
	second.mu.Unlock()
	if err := <-known; err != Canceled {
		t.Errorf("Err of the last context is %v, want %v", err, Canceled)
	}
	<-returned
}

func TestANodeInAWrapperIsFoundWithoutABridge(t *testing.T) {
	parent, cancel := WithTimeout(Background(), time.Hour)
	defer cancel()
	for _, wrapper := range []Context{std.WithValue(parent, new(int), 1), ownErr{parent}, ownErr{std.WithValue(ownErr{parent}, new(int), 1)}} {
		child, cancelChild := WithTimeout(wrapper, time.Minute)
		defer cancelChild()
		if up := nodeOf(child).above; up != nodeOf(parent) {
			t.Errorf("%v below %v", up, wrapper)
		}
	}
	if phase := nodeOf(parent).phase.Load(); phase != phaseWaited {
		t.Errorf("the phase is %d, want %d", phase, phaseWaited)
	}
}

// The inner context of the parent is found instead.
func TestANodeInAWrapperThatHidesItEndsTheContextsBelow(t *testing.T) {
	parent, cancel := WithTimeout(Background(), time.Hour)
	child, cancelChild := WithTimeout(std.WithValue(parent, nodeKey, "hidden"), time.Minute)
	defer cancelChild()
	if source := child.(*timerCtx).source; source != parent.Value(standardKey) {
		t.Errorf("the source is %v", source)
	}
	done := child.Done()
	cancel()
	if err := child.Err(); err != Canceled {
		t.Errorf("Err is %v, want %v", err, Canceled)
	}
	<-done
}
