package main

import (
	"context"
	"errors"
	"io"
	"time"
)

// goroutine runs a session on the calling goroutine, with a ticker and a timer.
func (g *sessionGroup) goroutine(silent bool, sample *sample) {
	first := time.Now()
	var beat *time.Ticker
	sample.begin(func() { beat = time.NewTicker(g.beat) })
	defer beat.Stop()
	timeout := time.NewTimer(g.idle)
	defer timeout.Stop()
	sent := 0
	for {
		var now time.Time // the time of a tick; zero: none
		idle := false
		select {
		case now = <-beat.C:
		case <-timeout.C:
			idle = true
			select { // if both are ready, the select above picks one at random
			case now = <-beat.C:
			default:
			}
		}
		if !now.IsZero() {
			since := now.Sub(first)
			if since < time.Duration(sent+1)*g.beat {
				g.early.Add(1)
			}
			sample.sent(g, int(since/g.beat)) // not sent+1, because a ticker drops late ticks
			if sent < g.beatsDue(silent) {
				sent++
				if g.peerAnswers(silent) {
					idle = false
					timeout.Reset(g.idle)
				}
			}
			if !silent && since >= time.Duration(g.beatsDue(false))*g.beat {
				g.sessionEnded(false, false, sent)
				return
			}
		}
		if idle {
			g.sessionEnded(silent, true, sent)
			return
		}
	}
}

// goroutines runs the sessions as goroutines and prints their row.
func goroutines(ctx context.Context, c config, out io.Writer) (row, error) {
	g := newSessionGroup(c)
	r, err := g.run(ctx, func(i int) error {
		go g.goroutine(g.isSilent(i), g.sampleOf(i))
		return nil
	}, nil)
	return r, errors.Join(err, g.report("goroutines", r, err, out))
}
