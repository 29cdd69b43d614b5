package durable

import "time"

// SetWall gives a Scheduler another wall clock. It is called before Run.
func SetWall(s *Scheduler, now func() time.Time) { s.now = now }
