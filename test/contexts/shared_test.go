package contexts

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
)

// A sharedTree is a tree of contexts that several goroutines use at the same time.
type sharedTree struct {
	makers   makers
	patience time.Duration // how long it waits for a condition
	watch    errWatch

	mu       sync.Mutex
	nodes    []*sharedNode // protected by mu
	hooks    []*sharedHook // protected by mu
	failures []error       // protected by mu

	waiters sync.WaitGroup // goroutines that wait for a channel
	waiting atomic.Int64   // how many of them there are
}

// maxShared is the maximum number of contexts in a shared tree, exceeded only if several are made
// at the same time.
const maxShared = 60

// fail records that a rule is broken.
func (t *sharedTree) fail(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = append(t.failures, fmt.Errorf(format, args...))
}

// add adds a context to the tree.
func (t *sharedTree) add(n *sharedNode) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n.id = len(t.nodes)
	t.nodes = append(t.nodes, n)
}

// all returns the current contexts.
func (t *sharedTree) all() []*sharedNode {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nodes[:len(t.nodes):len(t.nodes)]
}

// allHooks returns the current hooks.
func (t *sharedTree) allHooks() []*sharedHook {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hooks[:len(t.hooks):len(t.hooks)]
}

// run runs some goroutines, each with a number of random actions, and then ends all contexts.
// It returns an error if a rule is broken.
func (t *sharedTree) run(seed uint64, workers, actions int) error {
	return t.withRoot(seed, func(first *worker) {
		for range 1 + first.rng.IntN(6) {
			first.addChild(first.node())
		}
		start := make(chan struct{})
		var running sync.WaitGroup
		for i := range workers {
			w := &worker{t, rand.New(rand.NewPCG(seed, 1+uint64(i)))}
			running.Go(func() {
				<-start
				for range actions {
					w.act()
				}
			})
		}
		close(start)
		if !doneWithin(*patience, &running) {
			panic("goroutines are blocked\n" + testkit.Stacks())
		}
		first.finishAll(first.rng.IntN(2) == 0)
	})
}

// withRoot adds a root and calls f, which uses the tree and ends all contexts. Then it checks the
// rules.
func (t *sharedTree) withRoot(seed uint64, f func(first *worker)) error {
	goroutines, armed := runtime.NumGoroutine(), foliot.Default().Stats().Armed
	root := &sharedNode{neverEnds: true}
	root.ctx = context.Background()
	t.add(root)
	f(&worker{t, rand.New(rand.NewPCG(seed, 0))})
	for _, n := range t.nodes {
		t.awaitEnd(n)
	}
	if t.firstFailure() == nil {
		t.checkEnded(goroutines, armed)
	}
	if err := t.firstFailure(); err != nil {
		return fmt.Errorf("%w\n%s", err, t.listing())
	}
	return nil
}

func (t *sharedTree) firstFailure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.failures) == 0 {
		return nil
	}
	return t.failures[0]
}

// repeatShared runs shared trees until limit, at least 20 of them.
func repeatShared(t *testing.T, limit time.Time, subjects ...makers) {
	t.Helper()
	seed := *seedFlag
	for ; seed < *seedFlag+20 || time.Now().Before(limit); seed++ {
		for _, m := range subjects {
			tree := &sharedTree{makers: m, patience: *patience}
			if err := tree.run(seed, 2+int(seed%4), 5+int(seed%60)); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
	t.Logf("%d trees", seed-*seedFlag)
}

func TestSharedTreesObeyTheRules(t *testing.T) {
	testkit.EachProcs(t, func(t *testing.T) {
		repeatShared(t, time.Now().Add(share(2)), allFoliot, mixed, withRuntime)
	})
}

func TestSharedTreesOfStandardContextsObeyTheRules(t *testing.T) {
	repeatShared(t, time.Now().Add(share(6)), allStandard)
}
