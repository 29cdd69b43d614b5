// Package dashboard has tests of the dashboard of module prometheus, and of its histograms in a database
// of Prometheus. They run the queries of the dashboard with the engine of Prometheus. The package exports
// nothing.
package dashboard
