package bench

import (
	"context"
	"testing"
	"time"
)

func TestEveryContextJobEndsItsContexts(t *testing.T) {
	for name, api := range map[string]contextAPI{"std": stdContexts, "context": foliotContexts} {
		flat, endFlat := api.flatJobs()
		look, endLook := api.lookJobs(20)
		made, endMade := api.makeJobs(20)
		for _, jobs := range [][]job{flat, look, made} {
			for _, j := range jobs {
				if failed := j.do(50); failed != 0 {
					t.Errorf("%s: %s: %d of 50 failed", name, j.name, failed)
				}
			}
		}
		endFlat()
		endLook()
		endMade()
		if failed := look[0].do(1); failed != 1 {
			t.Errorf("%s: the chain has not ended", name)
		}
	}
}

func TestBothPackagesHaveTheSameContextJobs(t *testing.T) {
	for _, jobs := range []func(contextAPI) ([]job, func()){
		contextAPI.flatJobs,
		func(a contextAPI) ([]job, func()) { return a.lookJobs(3) },
		func(a contextAPI) ([]job, func()) { return a.makeJobs(3) },
	} {
		std, endStd := jobs(stdContexts)
		ours, endOurs := jobs(foliotContexts)
		for i, j := range std {
			if j.name != ours[i].name || j.per != ours[i].per {
				t.Errorf("%q with %d, and %q with %d", j.name, j.per, ours[i].name, ours[i].per)
			}
		}
		endStd()
		endOurs()
	}
}

func TestContextsThatDoNotEndAreCounted(t *testing.T) {
	lazy := contextAPI{
		withCancel: context.WithCancel,
		withTimeout: func(parent context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(parent)
			t.Cleanup(cancel)
			return ctx, func() {}
		},
	}
	if failed := lazy.below("", context.Background()).do(7); failed != 7 {
		t.Errorf("%d of 7 counted", failed)
	}
	if failed := lazy.tree(3); failed != 9 {
		t.Errorf("%d of 9 leaves counted", failed)
	}
	if failed := lazy.chainTurn(5); failed != 1 {
		t.Errorf("%d counted for a chain", failed)
	}
}

func TestContextsInAChainHaveTheirOwnDeadlines(t *testing.T) {
	for name, api := range map[string]contextAPI{"std": stdContexts, "context": foliotContexts} {
		first, endFirst := api.chain(1)
		last, endLast := api.chain(100)
		a, _ := first.Deadline()
		b, _ := last.Deadline()
		if got := a.Sub(b); got < 90*time.Second || got > 99*time.Second {
			t.Errorf("%s: the 100th deadline is %v before the first", name, got)
		}
		for _, cancel := range append(endFirst, endLast...) {
			cancel()
		}
	}
}
