package context

import (
	std "context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"
)

// waitBelow makes a context below a standard one and calls its Done.
func waitBelow(parent Context) (Context, CancelFunc) {
	ctx, cancel := WithTimeout(parent, time.Hour)
	ctx.Done()
	return ctx, cancel
}

// withRelay makes a standard context that has a relay.
func withRelay(t *testing.T) (Context, CancelFunc) {
	t.Helper()
	parent, cancel := std.WithCancel(Background())
	for range relayAfter + 1 {
		_, cancelChild := waitBelow(parent)
		cancelChild()
	}
	if n := childrenOf(parent); n != 1 {
		t.Fatalf("%d contexts in the list of the parent, want the relay", n)
	}
	return parent, cancel
}

func TestTheFirstContextsBelowAStandardOneLeaveNothingBehind(t *testing.T) {
	parent, cancel := std.WithCancel(Background())
	defer cancel()
	slot, _ := findRelaySlot(parent)
	slot.watches.Store(0)
	for i := range relayAfter {
		ctx, cancelChild := waitBelow(parent)
		below, cancelBelow := WithCancel(ctx)
		below.Done() // watches the same standard context
		if n := childrenOf(parent); n != 1 {
			t.Errorf("%d contexts in the list of the parent while %d is waited for", n, i)
		}
		cancelChild()
		cancelBelow()
		if n := childrenOf(parent); n != 0 {
			t.Errorf("%d contexts in the list of the parent after %d", n, i)
		}
	}
}

func TestARelayTellsAllContextsInItsList(t *testing.T) {
	parent, cancel := std.WithCancelCause(Background())
	var all []Context
	for i := range 10 * relayAfter {
		ctx, cancelChild := waitBelow(parent)
		if i%3 == 0 {
			cancelChild()
			continue
		}
		defer cancelChild()
		all = append(all, ctx)
	}
	if n := childrenOf(parent); n > relayAfter+1 {
		t.Errorf("%d contexts in the list of the parent", n)
	}
	cancel(errors.ErrUnsupported)
	for _, ctx := range all {
		<-nodeOf(ctx).done
		if err, cause := ctx.Err(), Cause(ctx); err != Canceled || cause != errors.ErrUnsupported {
			t.Errorf("a context has ended with %v, cause %v", err, cause)
		}
	}
	after, cancelAfter := waitBelow(parent)
	defer cancelAfter()
	if after.Err() != Canceled {
		t.Errorf("Err of a context that is made afterwards is %v", after.Err())
	}
}

func TestAContextThatIsWaitedForWhenTheRelayHasEndedIsTold(t *testing.T) {
	parent, cancel := withRelay(t)
	ctx, cancelChild := WithTimeout(parent, time.Hour)
	defer cancelChild()
	c := ctx.(*timerCtx)
	relay := findRelay(parent)
	cancel()
	for !relay.node.isEnding() {
		time.Sleep(time.Millisecond)
	}
	c.raisePhase(phaseWaited) // a Done that has looked before the end
	<-c.done
	if err := ctx.Err(); err != Canceled {
		t.Errorf("Err is %v, want %v", err, Canceled)
	}
}

// sameSlot makes standard contexts until one has the same place in the table as another.
func sameSlot(other Context) (Context, CancelFunc) {
	want, _ := findRelaySlot(other)
	for {
		ctx, cancel := std.WithCancel(Background())
		if slot, _ := findRelaySlot(ctx); slot == want {
			return ctx, cancel
		}
		cancel()
	}
}

func TestARelayThatLosesItsPlaceEndsWithItsLastContext(t *testing.T) {
	for _, waiting := range []bool{false, true} {
		parent, cancel := withRelay(t)
		ctx, cancelChild := WithTimeout(parent, time.Hour)
		if waiting {
			ctx.Done()
		}
		relay := findRelay(parent)
		other, cancelOther := sameSlot(parent)
		for range relayAfter + 1 {
			_, cancelBelow := waitBelow(other)
			cancelBelow()
		}
		if n := childrenOf(parent); waiting && n != 1 || !waiting && n != 0 {
			t.Errorf("%d contexts in the list of the parent, a context is waited for: %t", n, waiting)
		}
		if relay.add(ctx.(*timerCtx)) {
			t.Error("the relay takes a context after it has lost its place")
		}
		cancelChild()
		if n := childrenOf(parent); n != 0 {
			t.Errorf("%d contexts in the list of the parent after the last has ended", n)
		}
		cancel()
		cancelOther()
	}
}

// A mark is a value in a context. It has a pointer because small objects without pointers may
// share one allocation and live longer.
type mark struct{ _ *mark }

//go:noinline
func forgetRelay(t *testing.T) (weak.Pointer[relay], weak.Pointer[mark]) {
	value := new(mark)
	top, cancelTop := std.WithCancel(std.WithValue(Background(), nodeKey, value))
	_ = cancelTop // top is forgotten
	for range relayAfter + 1 {
		_, cancel := waitBelow(top)
		cancel()
	}
	r := findRelay(top)
	if r == nil {
		t.Fatal("there is no relay")
	}
	return weak.Make(r), weak.Make(value)
}

func TestARelayIsCollectedWithItsStandardContext(t *testing.T) {
	r, value := forgetRelay(t)
	// The runtime may keep the callback of a stopped timer for a while.
	for deadline := time.Now().Add(10 * time.Second); r.Value() != nil || value.Value() != nil; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatal("the relay or its standard context is still in memory")
		}
	}
}

// Goroutines wait for contexts below a few standard contexts, which share a place in the table and
// end meanwhile.
func TestManyContextsBelowStandardOnesAreTold(t *testing.T) {
	for round := range 20 {
		parent, cancel := std.WithCancel(Background())
		other, cancelOther := sameSlot(parent)
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				for j := range 200 {
					above := parent
					if (i+j/20)%2 == 0 {
						above = other
					}
					ctx, cancelChild := WithTimeout(above, time.Hour)
					done := ctx.Done()
					if j%50 == 10*round%50 {
						<-done
					}
					cancelChild()
					if !isClosed(done) {
						t.Error("the channel is open after the end")
					}
				}
			})
		}
		time.Sleep(time.Duration(round) * 50 * time.Microsecond)
		cancel()
		cancelOther()
		all.Wait()
		for deadline := time.Now().Add(10 * time.Second); childrenOf(parent)+childrenOf(other) != 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d and %d contexts in the lists of the parents", childrenOf(parent), childrenOf(other))
			}
		}
	}
}
