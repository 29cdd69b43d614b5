// Package inspect serves a page that shows timer runtimes live.
package inspect
