package engine

// keptMax is how many functions the driver keeps at a time.
const keptMax = 32

// keptFuncs are functions of GoFuncs that are due. The driver keeps them until it has set the alarm
// for the next deadline, because starting a goroutine may wake another thread. Then it starts a
// goroutine for each but the last one, and ends with a call of that one. So a single timer takes one
// goroutine for the driver and its function, as in package time.
//
// The driver starts the functions earlier if there are keptMax, before it runs code of the user,
// before it leaves work to another goroutine, and before it waits.
type keptFuncs struct {
	n     int
	funcs [keptMax]func()
}

// add keeps a function. It returns false, and does nothing, if there is no room or k is nil.
func (k *keptFuncs) add(f func()) bool {
	if k == nil || k.n == keptMax {
		return false
	}
	k.funcs[k.n] = f
	k.n++
	return true
}

// keep keeps a function, after it has started the others if there is no room. If k is nil, it starts
// a goroutine for the function.
func (k *keptFuncs) keep(eng *Engine, f func()) {
	if k == nil {
		unlabel() // the new goroutine inherits the labels
		eng.startFunc(f)
		eng.label()
		return
	}
	if !k.add(f) {
		k.start(eng)
		k.add(f)
	}
}

// start starts a goroutine for each function that is kept.
func (k *keptFuncs) start(eng *Engine) {
	if k.n == 0 {
		return
	}
	unlabel() // the new goroutines inherit the labels
	for i, f := range k.funcs[:k.n] {
		eng.startFunc(f)
		k.funcs[i] = nil
	}
	k.n = 0
	eng.label()
}

// finish starts a goroutine for each function that is kept but the last one, and calls that one.
// The driver has ended. Its goroutine is now that of the function.
func (k *keptFuncs) finish(eng *Engine) {
	if k.n == 0 {
		return
	}
	k.n--
	last := k.funcs[k.n]
	k.funcs[k.n] = nil
	k.start(eng)
	unlabel()
	eng.callFunc(last)
}

// beforeUserCode is called before a callback of the user or an item is run, because these may take
// long. If the goroutine is the driver, beforeUserCode sets the watchdog, and starts the functions
// that are kept. Other goroutines have set the watchdog already, and keep none: kept is nil.
func (eng *Engine) beforeUserCode(kept *keptFuncs, now int64) {
	if kept != nil {
		eng.timekeeper.ensureWatchdog(now)
		kept.start(eng)
	}
}
