// Package check has tests of package foliot that need other libraries, which the root module does
// not depend on. They check with porcupine that concurrent histories of timers are linearizable,
// and that goleak is content with what programs leave behind. The package exports nothing. Package
// clocks has such tests of package clock, and package dashboard of the dashboard and the alerts of
// module prometheus.
//
// A failing history is printed with its seed. The same seed gives the same operations, but not the
// same interleaving, so run it for longer:
//
//	go test -race -run 'TestName' -seed=17 -budget=1m ./lab/check
//
// With -artifacts, go test keeps a picture of the failing history.
package check
