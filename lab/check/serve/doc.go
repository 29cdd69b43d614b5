// Package serve has tests of the page of foliot serve in a browser. They need Chromium, so they run only with
// go test -tags browser: see .ci/browser.
package serve
