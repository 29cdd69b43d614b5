package engine

// keptMax is how many functions the driver keeps at a time.
const keptMax = 32

// A driver is what the goroutine that is currently the timekeeper carries from turn to turn. If a
// callback ends that goroutine, its successor takes over the driver.
//
// The driver keeps the functions of GoFuncs that are due until it has set the alarm for the next
// deadline, because starting a goroutine may wake another thread. It then starts a goroutine for
// every function but the last, and calls that one itself as its final act. A lone timer thus takes
// one goroutine for the driver and its function, as in package time.
//
// The driver starts the functions earlier if there are keptMax of them, and before it runs user code,
// leaves work to another goroutine, or waits.
type driver struct {
	epoch uint64 // it is the driver as long as this equals timekeeper.epoch
	n     int
	kept  [keptMax]func() // the first n are due and not yet started
}

// add keeps f. It returns false and does nothing if there is no room or d is nil.
func (d *driver) add(f func()) bool {
	if d == nil || d.n == keptMax {
		return false
	}
	d.kept[d.n] = f
	d.n++
	return true
}

// keep keeps f, after starting the functions kept so far if there is no room. If d is nil, it starts
// a goroutine for f instead.
func (d *driver) keep(eng *Engine, f func()) {
	if d == nil {
		unlabel() // the new goroutine would inherit the labels
		eng.startFunc(f)
		eng.label()
		return
	}
	if !d.add(f) {
		d.startKept(eng)
		d.add(f)
	}
}

// startKept starts a goroutine for each kept function.
func (d *driver) startKept(eng *Engine) {
	if d.n == 0 {
		return
	}
	unlabel() // the new goroutines would inherit the labels
	for i, f := range d.kept[:d.n] {
		eng.startFunc(f)
		d.kept[i] = nil
	}
	d.n = 0
	eng.label()
}

// takeLast starts a goroutine for each kept function but the last, which it returns. It returns nil
// if there is none.
func (d *driver) takeLast(eng *Engine) (last func()) {
	if d.n == 0 {
		return nil
	}
	d.n--
	last = d.kept[d.n]
	d.kept[d.n] = nil
	d.startKept(eng)
	return last
}

// beforeUserCode is called before a callback or poll that may take long. If the goroutine is the
// driver, beforeUserCode sets the watchdog and starts the kept functions. Other goroutines, for which
// d is nil, have already set the watchdog and keep nothing.
func (d *driver) beforeUserCode(eng *Engine, now int64) {
	if d != nil {
		eng.timekeeper.ensureWatchdog(now)
		d.startKept(eng)
	}
}
