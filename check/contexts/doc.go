// Package contexts eventually tests that compare package context of Foliot with the standard
// package. It exports nothing.
//
// A program is a list of steps that make, end and ask contexts. It runs once with standard
// contexts, and again with contexts of Foliot and with a mixture of both. All runs must
// observe the same. A shared tree is used by several goroutines at the same time. What they
// observe must keep a few rules.
//
// A failing program is printed with its seed and as an input of the fuzz target:
//
//	go test -run 'LookLike' -seed=17 -budget=1m ./contexts
//	go test -run '^$' -fuzz FuzzContexts -fuzztime=5m -fuzzminimizetime=20x ./contexts
//
// The seed of a shared tree gives the same actions again, not the same interleaving.
package contexts
