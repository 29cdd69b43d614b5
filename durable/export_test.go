package durable

import "time"

// SetLoad sets how many timers Run has in memory, until restore is called.
func SetLoad(first, most int) (restore func()) {
	oldFirst, oldMost := loadFirst, loadMax
	loadFirst, loadMax = first, most
	return func() { loadFirst, loadMax = oldFirst, oldMost }
}

// SetWall gives a Scheduler another wall clock. It is called before Run.
func SetWall(s *Scheduler, now func() time.Time) { s.now = now }
