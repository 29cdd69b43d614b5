// Package clocks has a suite of tests in the way of programs that use clockwork. It runs with the fake
// clock of clockwork and with that of package clock. Only the constructor differs. The package exports
// nothing.
package clocks
