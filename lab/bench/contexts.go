package main

import (
	"context"
	"strconv"
	"time"

	foliotcontext "github.com/foliot-go/foliot/context"
)

// A contextAPI is the part of a package context that makes contexts.
type contextAPI struct {
	withCancel  func(context.Context) (context.Context, context.CancelFunc)
	withTimeout func(context.Context, time.Duration) (context.Context, context.CancelFunc)
}

var (
	stdContexts    = contextAPI{context.WithCancel, context.WithTimeout}
	foliotContexts = contextAPI{foliotcontext.WithCancel, foliotcontext.WithTimeout}
)

// longest is the timeout of the first context of a tree or chain. The contexts below have shorter ones, so that each of
// them has its own timer.
const longest = 100 * time.Hour

// isDone reports whether a context has ended, for a goroutine that waits for it.
func isDone(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// below returns a job that makes contexts with a deadline below parent, waits for each and cancels it.
func (a contextAPI) below(name string, parent context.Context) job {
	return job{name: "context-below", key: "parent=" + name, do: func(ops int) (failed int) {
		for range ops {
			ctx, cancel := a.withTimeout(parent, farAhead)
			done := ctx.Done()
			cancel()
			if !isDone(done) {
				failed++
			}
		}
		return failed
	}}
}

// flatJobs returns the jobs with contexts that are not deep. The function returned ends their parents.
func (a contextAPI) flatJobs() (jobs []job, end func()) {
	standard, endStandard := context.WithCancel(context.Background())
	own, endOwn := a.withTimeout(context.Background(), longest)
	jobs = []job{
		a.below("background", context.Background()),
		a.below("standard", standard),
		a.below("own", own),
		{name: "context-tree", per: 21, do: func(ops int) (failed int) {
			for range ops {
				failed += a.tree(4)
			}
			return failed
		}},
	}
	return jobs, func() { endStandard(); endOwn() }
}

// tree makes a root with branches that have as many leaves each, waits for all leaves and cancels the root. It returns
// how many leaves have not ended then.
func (a contextAPI) tree(branches int) (failed int) {
	root, cancel := a.withTimeout(context.Background(), longest)
	cancels := make([]context.CancelFunc, 0, branches*(branches+1))
	leaves := make([]<-chan struct{}, 0, branches*branches)
	for range branches {
		branch, cancel := a.withTimeout(root, longest-time.Hour)
		cancels = append(cancels, cancel)
		for range branches {
			leaf, cancel := a.withTimeout(branch, longest-2*time.Hour)
			cancels = append(cancels, cancel)
			leaves = append(leaves, leaf.Done())
		}
	}
	cancel()
	for _, done := range leaves {
		if !isDone(done) {
			failed++
		}
	}
	for _, cancel := range cancels { // as programs do with defer
		cancel()
	}
	return failed
}

// chain makes contexts with a deadline, each below the one before, and returns the last one. cancels has the function of
// each.
func (a contextAPI) chain(depth int) (last context.Context, cancels []context.CancelFunc) {
	cancels = make([]context.CancelFunc, depth)
	last = context.Background()
	for i := range cancels {
		last, cancels[i] = a.withTimeout(last, longest-time.Duration(i)*time.Second)
	}
	return last, cancels
}

// chainTurn makes a chain, waits for its last context, cancels the first one, and then all others. It returns 1 if the
// last context does not end with the first one.
func (a contextAPI) chainTurn(depth int) (failed int) {
	last, cancels := a.chain(depth)
	done := last.Done()
	cancels[0]()
	if !isDone(done) {
		failed = 1
	}
	for _, cancel := range cancels[1:] {
		cancel()
	}
	return failed
}

// lookJobs returns the jobs that only look at the last context of a chain. The function returned ends the chain.
func (a contextAPI) lookJobs(depth int) (jobs []job, end func()) {
	asked, endAsked := a.chain(depth)
	waited, endWaited := a.chain(depth)
	waited.Done()
	jobs = []job{
		{name: "context-err", do: func(ops int) (failed int) {
			for range ops {
				if asked.Err() != nil {
					failed++
				}
			}
			return failed
		}},
		{name: "context-done", do: func(ops int) (failed int) {
			for range ops {
				if waited.Done() == nil {
					failed++
				}
			}
			return failed
		}},
	}
	return jobs, func() {
		for i := range depth {
			endAsked[i]()
			endWaited[i]()
		}
	}
}

// makeJobs returns the jobs that make contexts of a chain. The function returned ends the chain.
func (a contextAPI) makeJobs(depth int) (jobs []job, end func()) {
	last, cancels := a.chain(depth)
	jobs = []job{
		{name: "context-with-cancel", do: func(ops int) (failed int) {
			for range ops {
				ctx, cancel := a.withCancel(last)
				cancel()
				if ctx.Err() == nil {
					failed++
				}
			}
			return failed
		}},
		a.chainJob(depth),
	}
	return jobs, func() {
		for _, cancel := range cancels {
			cancel()
		}
	}
}

func (a contextAPI) chainJob(depth int) job {
	return job{name: "context-chain", per: depth, do: func(ops int) (failed int) {
		for range ops {
			failed += a.chainTurn(depth)
		}
		return failed
	}}
}

// contexts measures contexts with deadlines that a program waits for: below other contexts, in a tree, and deep down a
// chain.
func contexts(r *run) error {
	std, endStd := stdContexts.flatJobs()
	defer endStd()
	ours, endOurs := foliotContexts.flatJobs()
	defer endOurs()
	sideBySide(r, "context", "", std, ours, true)
	for _, depth := range pick(r, []int{10, 1000}, []int{10, 1000, 10_000}) {
		for _, kind := range []struct {
			jobs    func(contextAPI, int) ([]job, func())
			garbage bool
		}{{contextAPI.lookJobs, false}, {contextAPI.makeJobs, true}} {
			if r.ctx.Err() != nil {
				return nil
			}
			std, endStd := kind.jobs(stdContexts, depth)
			ours, endOurs := kind.jobs(foliotContexts, depth)
			sideBySide(r, "context", "depth="+strconv.Itoa(depth), std, ours, kind.garbage)
			endStd()
			endOurs()
		}
	}
	return nil
}
