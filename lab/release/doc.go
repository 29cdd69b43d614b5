// Package release tests .ci/release: it makes a release of the working tree, publishes it in a repository of its own, and
// does with it what users do. The package exports nothing.
package release
