// Package contexts has tests that compare contexts of Foliot, those of package context and those of
// a runtime, with the standard package. It exports nothing.
//
// A program is a list of steps that make contexts, end them and call their methods. It runs once
// with standard contexts, and again with contexts of Foliot and with mixtures of both. All runs
// must observe the same results. A shared tree is used by several goroutines at the same time. The
// results that they observe must obey a few rules.
//
// A failing program is printed with its seed and as an input of the fuzz target:
//
//	go test -run 'BehaveLike' -seed=17 -budget=1m ./test/contexts
//	go test -run '^$' -fuzz FuzzContexts -fuzztime=5m -fuzzminimizetime=20x ./test/contexts
//
// The same seed of a shared tree gives the same actions, but not the same interleaving.
package contexts
