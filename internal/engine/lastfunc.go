package engine

// A lastFunc is a function of a GoFunc that the driver keeps back. The driver starts a goroutine
// for each function but the last one of a wake-up. It calls that one itself when it ends, with
// nothing else left to do. So a single timer needs one goroutine for the driver and its function,
// as in package time. The driver starts a goroutine for the last function, too, if it does not
// end: before it waits, and before it runs code of the user.
type lastFunc struct{ f func() }

// exchange keeps f back, and returns the function that was kept back before, or nil. If l is nil,
// it keeps nothing back and returns f.
func (l *lastFunc) exchange(f func()) func() {
	if l == nil {
		return f
	}
	f, l.f = l.f, f
	return f
}

// start starts a goroutine for the function that is kept back, if there is one.
func (l *lastFunc) start(eng *Engine) {
	eng.startGoFunc(l.exchange(nil))
}

// call calls the function that is kept back, if there is one. The driver has ended, and its
// goroutine is now that of the function.
func (l *lastFunc) call(eng *Engine) {
	if l.f != nil {
		unlabel()
		eng.callFunc(l.f)
	}
}

// beforeUserCode is called before a callback of the user or an item is run, because these may take
// long. If the goroutine is the driver, beforeUserCode sets the watchdog, and starts the function
// that the driver keeps back. Other goroutines have set the watchdog already.
func (eng *Engine) beforeUserCode(last *lastFunc, now int64) {
	if last != nil {
		eng.timekeeper.ensureWatchdog(now)
		last.start(eng)
	}
}

// startGoFunc starts a goroutine for the function of a GoFunc, unless it is nil. The caller is a
// goroutine of the engine.
func (eng *Engine) startGoFunc(f func()) {
	if f == nil {
		return
	}
	unlabel() // the new goroutine inherits the labels
	eng.startFunc(f)
	eng.label()
}
