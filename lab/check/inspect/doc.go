// Package inspect has tests of the page of package inspect in a browser. They need Chromium, so they run only with
// go test -tags browser: see .ci/browser.
package inspect
