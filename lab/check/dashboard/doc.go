// Package dashboard has tests of the dashboard, the alerts and the histograms of module prometheus. Most of them only
// parse queries. Those that run queries need Prometheus's engine, which imports a client of Kubernetes, and are compiled
// with the tag full:
//
//	go test -tags full ./lab/check/dashboard
//
// The package exports nothing.
package dashboard
