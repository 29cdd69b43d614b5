package main

import (
	"context"
	"errors"
	"io"
	"time"
)

// goroutine is a session with a goroutine of its own, a ticker and a timer.
func (f *fleet) goroutine(silent bool, sample *sample) {
	first := time.Now()
	var beat *time.Ticker
	sample.begin(func() { beat = time.NewTicker(f.beat) })
	defer beat.Stop()
	timeout := time.NewTimer(f.idle)
	defer timeout.Stop()
	sent := 0
	for {
		var now time.Time // of a tick
		idle := false
		select {
		case now = <-beat.C:
		case <-timeout.C:
			idle = true
			select { // which of the two is taken when both are due is left to chance
			case now = <-beat.C:
			default:
			}
		}
		if !now.IsZero() {
			since := now.Sub(first)
			if since < time.Duration(sent+1)*f.beat {
				f.early.Add(1)
			}
			sample.sent(f, int(since/f.beat)) // not sent+1, as a ticker leaves out what is too late
			if sent < f.due(silent) {
				sent++
				if f.peer(silent) {
					idle = false
					timeout.Reset(f.idle)
				}
			}
			if !silent && since >= time.Duration(f.due(false))*f.beat {
				f.ended(false, false, sent)
				return
			}
		}
		if idle {
			f.ended(silent, true, sent)
			return
		}
	}
}

// goroutines runs the sessions as goroutines, and prints a row about them.
func goroutines(ctx context.Context, c config, out io.Writer) (row, error) {
	f := newFleet(c)
	r, err := f.run(ctx, func(i int) error {
		go f.goroutine(f.isSilent(i), f.sampleOf(i))
		return nil
	}, nil)
	return r, errors.Join(err, f.conclude("goroutines", r, err, out))
}
