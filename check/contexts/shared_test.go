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
)

// sharedTree is a tree of contexts that several goroutines use at the same time.
type sharedTree struct {
	makers   makers
	patience time.Duration // how long it waits for what must happen
	watch    watch

	mu     sync.Mutex
	nodes  []*sharedNode // under mu
	hooks  []*sharedHook // under mu
	faults []error       // under mu

	waiters sync.WaitGroup // goroutines that wait for a channel
	waiting atomic.Int64   // how many of them there are
}

// maxShared is how many contexts a shared tree has, unless several are made at the same time.
const maxShared = 60

// fault notes that a rule is broken.
func (t *sharedTree) fault(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = append(t.faults, fmt.Errorf(format, args...))
}

// add adds a context to the tree.
func (t *sharedTree) add(n *sharedNode) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n.id = len(t.nodes)
	t.nodes = append(t.nodes, n)
}

// all returns the contexts that there are now.
func (t *sharedTree) all() []*sharedNode {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nodes[:len(t.nodes):len(t.nodes)]
}

// allHooks returns the hooks that there are now.
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
		var busy sync.WaitGroup
		for i := range workers {
			w := &worker{t, rand.New(rand.NewPCG(seed, 1+uint64(i)))}
			busy.Go(func() {
				<-start
				for range actions {
					w.act()
				}
			})
		}
		close(start)
		if !waitFor(*patience, &busy) {
			panic("goroutines are blocked\n" + stacks())
		}
		first.finishAll(first.rng.IntN(2) == 0)
	})
}

// withRoot adds a root, calls f, which uses the tree and ends all contexts, and checks the rules.
func (t *sharedTree) withRoot(seed uint64, f func(first *worker)) error {
	goroutines, armed := runtime.NumGoroutine(), foliot.Default().Stats().Armed
	root := &sharedNode{neverEnds: true}
	root.ctx = context.Background()
	t.add(root)
	f(&worker{t, rand.New(rand.NewPCG(seed, 0))})
	for _, n := range t.nodes {
		t.awaitEnd(n)
	}
	if t.firstFault() == nil {
		t.checkEnded(goroutines, armed)
	}
	if err := t.firstFault(); err != nil {
		return fmt.Errorf("%w\n%s", err, t.listing())
	}
	return nil
}

func (t *sharedTree) firstFault() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.faults) == 0 {
		return nil
	}
	return t.faults[0]
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

func TestSharedTreesKeepTheRules(t *testing.T) {
	for _, procs := range []int{1, 2, 8} {
		t.Run(fmt.Sprint("procs=", procs), func(t *testing.T) {
			was := runtime.GOMAXPROCS(procs)
			defer runtime.GOMAXPROCS(was)
			repeatShared(t, time.Now().Add(share(3)), allFoliot, mixed)
		})
	}
}

func TestSharedTreesOfStandardContextsKeepTheRules(t *testing.T) {
	repeatShared(t, time.Now().Add(share(6)), allStandard)
}
