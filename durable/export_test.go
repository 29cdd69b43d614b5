package durable

import "time"

// SetWall gives a Scheduler another wall clock. It is called before Run.
func SetWall(s *Scheduler, now func() time.Time) { s.now = now }

// SetLoad sets the bounds of what is in memory. It is called while no Run runs.
func SetLoad(most, first int) (restore func()) {
	priorMost, priorFirst := loadMax, loadFirst
	loadMax, loadFirst = most, first
	return func() { loadMax, loadFirst = priorMost, priorFirst }
}
