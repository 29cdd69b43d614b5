package context

import (
	"errors"
	"sync"
	"testing"
	"time"
)

// below counts the contexts of ours that a context tells of its end.
func (c *cancelCtx) below() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.post.Load(); p != nil {
		for q := p.first; q != nil; q = q.next {
			n++
		}
	}
	return n
}

func TestACancelledContextIsTakenOffTheListOfItsParent(t *testing.T) {
	parent, cancel := WithTimeout(Background(), time.Hour)
	defer cancel()
	core := &parent.(*timerCtx).cancelCtx
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
		if n := core.below(); n != 6-i {
			t.Fatalf("%d below, want %d", n, 6-i)
		}
		cancels[k]()
		cancels[k]()
	}
	if n := core.below(); n != 0 {
		t.Errorf("%d below after the last", n)
	}
}

// The one enters the context in the list, the other takes it off, at the same time.
func TestAContextThatEndsWhileItIsFirstWaitedForIsNotLeftInTheListOfItsParent(t *testing.T) {
	parent, cancel := WithTimeout(Background(), time.Hour)
	defer cancel()
	for range 20_000 {
		child, cancelChild := WithTimeout(parent, time.Minute)
		var both sync.WaitGroup
		both.Go(func() { child.Done() })
		cancelChild()
		both.Wait()
	}
	if n := parent.(*timerCtx).below(); n != 0 {
		t.Errorf("%d ended contexts are still known to their parent", n)
	}
}

// The same, with the steps in the order that leaves it to the one who enters.
func TestAContextThatHasEndedBeforeItIsEnteredLeavesAgain(t *testing.T) {
	parent, cancel := WithTimeout(Background(), time.Hour)
	defer cancel()
	child, cancelChild := WithTimeout(parent, time.Minute)
	p := &post{owner: &child.(*timerCtx).cancelCtx}
	p.owner.post.Store(p)
	cancelChild()
	p.join()
	if n := parent.(*timerCtx).below(); n != 0 {
		t.Errorf("%d ended contexts are still known to their parent", n)
	}
}

func TestErrWaitsForDoneToBeClosed(t *testing.T) {
	ctx, cancel := WithTimeout(Background(), time.Hour)
	defer cancel()
	done := ctx.Done()
	c := &ctx.(*timerCtx).cancelCtx
	c.mu.Lock()
	c.end.Store(canceled) // the first half of finishLocked
	heard := make(chan error)
	go func() { heard <- ctx.Err() }()
	select {
	case err := <-heard:
		t.Errorf("%v before Done is closed", err)
	case <-time.After(20 * time.Millisecond):
		c.post.Load().announce(canceled)
		<-heard
		<-done
	}
	c.mu.Unlock()
}

// ownErr is a wrapper whose cause is asked without its Err.
type ownErr struct{ Context }

func (ownErr) Err() error { return errors.New("own") }

func TestTheCauseThroughAWrapperWaitsForTheContextThatEnds(t *testing.T) {
	ctx, cancel := WithTimeout(Background(), time.Hour)
	defer cancel()
	ctx.Done()
	c := &ctx.(*timerCtx).cancelCtx
	c.mu.Lock()
	c.end.Store(canceled) // the first half of finishLocked
	heard := make(chan error, 1)
	go func() { heard <- Cause(ownErr{ctx}) }()
	select {
	case err := <-heard:
		t.Errorf("%v before the context has ended", err)
		heard <- err
	case <-time.After(20 * time.Millisecond):
	}
	c.post.Load().announce(canceled)
	c.mu.Unlock()
	if err := <-heard; err != Canceled {
		t.Errorf("the cause is %v, want %v", err, Canceled)
	}
}
