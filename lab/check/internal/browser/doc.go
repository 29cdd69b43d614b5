// Package browser drives Chromium for the tests of pages. It has more files with the build tag browser.
package browser
