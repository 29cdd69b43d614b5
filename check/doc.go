// Package check holds tests of package foliot that need libraries, which the root
// module does without: linearizability of concurrent histories of timers, judged by
// porcupine, and goroutines and file descriptors left behind, found by goleak and in
// /proc. It exports nothing. Package contexts below it holds those of package context.
//
// A failing history is printed with its seed. The seed gives the same plans again,
// not the same interleaving, so it is best tried for longer:
//
//	go test -race -run 'TestName' -seed=17 -budget=1m ./check
//
// With -artifacts, go test keeps a drawing of the failing history.
package check
