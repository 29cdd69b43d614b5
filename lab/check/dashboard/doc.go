// Package dashboard has tests of the dashboard, the alerts and the histograms of module prometheus. They
// run queries with the engine of Prometheus. The package exports nothing.
package dashboard
