package storetest

import (
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// A Store is a [durable.Store] that can be closed.
type Store interface {
	durable.Store
	Close() error
}

// A Config says how the suite makes stores, and what a store promises beyond the rest. Open and Reopen
// are required.
type Config struct {
	// Open returns an empty store. The suite closes it. What else must be cleaned up after the test,
	// Open leaves to t.Cleanup.
	Open func(t *testing.T) Store

	// Reopen returns a store with the content of one that Open or Reopen has returned, and that was
	// closed, has crashed or has failed.
	Reopen func(t *testing.T, old Store) Store

	// Crash ends a store as a power cut or kill -9 does: what is not kept is lost. The suite does not
	// close it afterwards. nil means that tests of crashes are left out.
	Crash func(t *testing.T, s Store)

	// Fail makes a store fail like one whose disk cannot be written any more. nil means that tests of
	// failures are left out.
	Fail func(t *testing.T, s Store, err error)

	// OneNode says that one process at a time uses a store. Then ScheduleBatch arms all timers or
	// none, two attempts with the same Key never overlap, and a second Scheduler cannot run on it.
	OneNode bool

	// Patience is how long the suite waits for something that must happen. 0 means 20 s.
	Patience time.Duration
}

// Run runs the suite against a store: a subtest for each promise.
func Run(t *testing.T, c Config) {
	if c.Open == nil || c.Reopen == nil {
		t.Fatal("storetest: Config.Open and Config.Reopen are required")
	}
	if c.Patience == 0 {
		c.Patience = 20 * time.Second
	}
	for _, group := range [][]test{
		keptTests, failTests, outcomeTests, postponeTests, deadTests, cancelTests, replaceTests, conditionTests, periodicTests,
		lateTests, runTests, handlerTests, validTests, listTests, revTests, closedTests, clockTests, linearTests, stressTests,
	} {
		for _, test := range group {
			t.Run(test.name, func(t *testing.T) {
				if test.needs != nil {
					if missing := test.needs(&c); missing != "" {
						t.Skip("the store has no Config." + missing)
					}
				}
				test.run(newKit(t, c))
			})
		}
	}
}

// A test is a part of the suite.
type test struct {
	name  string
	run   func(k *kit)
	needs func(c *Config) (missing string) // nil: nothing
}

func needsCrash(c *Config) string {
	if c.Crash == nil {
		return "Crash"
	}
	return ""
}

func needsFail(c *Config) string {
	if c.Fail == nil {
		return "Fail"
	}
	return ""
}

func needsOneNode(c *Config) string {
	if !c.OneNode {
		return "OneNode"
	}
	return ""
}
