package durable

// SetLoad sets how many timers Run has in memory, until restore is called.
func SetLoad(first, most int) (restore func()) {
	oldFirst, oldMost := loadFirst, loadMax
	loadFirst, loadMax = first, most
	return func() { loadFirst, loadMax = oldFirst, oldMost }
}
