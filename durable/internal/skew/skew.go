// Package skew sets the wall clock of a process wrong, for tests.
package skew

import "time"

// By is how far the wall clock of each Scheduler is ahead. A test sets it before it makes one.
var By time.Duration
