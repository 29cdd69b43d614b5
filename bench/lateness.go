package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A lateLog is how late the timers of one contender were. It is not safe for concurrent use.
type lateLog struct {
	all    *hdrhistogram.Histogram // nanoseconds, over all rounds
	round  []float64               // microseconds, of the round that is under way
	median []float64               // by round
	p90    []float64
	early  int
}

func newLateLog() *lateLog {
	return &lateLog{all: hdrhistogram.New(1, int64(5*time.Minute), 3)}
}

// add writes down how late one timer was. One that fired early counts as on time, and is counted apart.
func (l *lateLog) add(late time.Duration) {
	if late < 0 {
		l.early++
	}
	l.round = append(l.round, float64(late)/1e3)
	_ = l.all.RecordValue(int64(min(max(late, 1), 5*time.Minute))) // in range, so there is no error
}

func (l *lateLog) endRound() {
	if len(l.round) == 0 {
		return
	}
	s := sorted(l.round)
	l.median = append(l.median, quantile(s, 0.5))
	l.p90 = append(l.p90, quantile(s, 0.9))
	l.round = l.round[:0]
}

// write puts it on the sheet. The median is compared round by round; the rare cases only over all rounds.
func (l *lateLog) write(s *sheet, contender string, n int) {
	l.endRound()
	if l.all.TotalCount() == 0 {
		return
	}
	rare := func(name string, q float64) *figure {
		return s.measure(name, "µs").add(contender, n, float64(l.all.ValueAtPercentile(q))/1e3)
	}
	m := s.measure("late by, median", "µs")
	m.Main = true
	m.add(contender, n, l.median...).early = l.early
	s.measure("late by, 9 of 10 less than", "µs").add(contender, n, l.p90...)
	rare("late by, 99 of 100 less than", 99)
	p999 := rare("late by, 999 of 1,000 less than", 99.9)
	if count := l.all.TotalCount(); count < 1000 {
		p999.note(fmt.Sprintf("of %d timers in all", count))
	}
	rare("late by, at most", 100)
	s.measure("fired early", "").neutral().add(contender, n, float64(l.early)).early = l.early
}

// shares are where a curve of lateness is drawn.
var shares = []float64{0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 1}

// curve returns how late timers were at most, in microseconds, against their share.
func (l *lateLog) curve(contender string) Series {
	c := Series{Contender: contender}
	for _, q := range shares {
		c.Points = append(c.Points, [2]float64{q, float64(l.all.ValueAtPercentile(100*q)) / 1e3})
	}
	return c
}

func latenessPlot(title string, series []Series) Plot {
	return Plot{
		Name: PlotLateness, Title: title,
		X: Axis{Label: "share of timers", Tail: true}, Y: Axis{Label: "late by at most", Unit: "µs", Log: true},
		Series: series,
	}
}

// A sleeper is an entrant that has one timer at a time to fire.
type sleeper struct {
	*entrant
	log *lateLog
	cpu []float64 // microseconds for each wake-up, by round
}

func (s *sheet) sleepers(n int, keep func(contender) bool) (all []*sleeper, done func()) {
	field, done := s.field(n, keep)
	for _, e := range field {
		all = append(all, &sleeper{entrant: e, log: newLateLog()})
	}
	return all, done
}

// sleep waits for one timer and returns how late its callback was.
func (s *sleeper) sleep(d time.Duration) (late time.Duration, err error) {
	woke := make(chan time.Duration, 1)
	began := time.Now()
	if err := s.timers.arm(d, func() { woke <- time.Since(began) - d }); err != nil {
		return 0, err
	}
	select {
	case late = <-woke:
		return late, nil
	case <-time.After(d + time.Minute):
		return 0, fmt.Errorf("a timer of %v has not fired in a minute more", d)
	}
}

// takeTurns has each of the sleepers sleep for the same delays, one at a time.
func (s *sheet) takeTurns(times int, draw func() time.Duration, all []*sleeper) {
	for range times {
		d := draw()
		for _, one := range all {
			if s.ctx.Err() != nil || one.out {
				continue
			}
			late, err := one.sleep(d)
			if err != nil {
				one.out = true
				s.fail(one.Name, 1, err)
				continue
			}
			one.log.add(late)
		}
	}
	for _, one := range all {
		one.log.endRound()
	}
}

// wakeups has each of the sleepers sleep several times in a row, and measures the processor time of that. In a
// row, because a thread that has woken somebody stays awake for a moment, looking for more to do: that is to be
// counted for the one it worked for.
func (s *sheet) wakeups(times int, draw func() time.Duration, all []*sleeper) {
	delays := make([]time.Duration, times)
	for i := range delays {
		delays[i] = draw()
	}
	for _, one := range all {
		cpu := processCPU()
		for _, d := range delays {
			if s.ctx.Err() != nil || one.out {
				return
			}
			if _, err := one.sleep(d); err != nil {
				one.out = true
				s.fail(one.Name, 1, err)
				break
			}
		}
		one.cpu = append(one.cpu, max(float64((processCPU()-cpu).Nanoseconds()), 1)/1e3/float64(times))
	}
}

// between returns delays at random.
func between(least, most time.Duration) func() time.Duration {
	return func() time.Duration { return least + rand.N(most-least) }
}

// sparseTimers measures how late a single timer is when nothing else goes on, and what it costs to be woken.
func sparseTimers(s *sheet) error {
	return s.lonely(between(50*time.Microsecond, 20*time.Millisecond), pick(s, 8, 25), "One timer of 50 µs to 20 ms at a time")
}

// subMillisecond is the same with short delays, which is where the standard library rounds.
func subMillisecond(s *sheet) error {
	return s.lonely(between(20*time.Microsecond, 900*time.Microsecond), pick(s, 50, 200), "One timer of 20 to 900 µs at a time")
}

func (s *sheet) lonely(draw func() time.Duration, times int, title string) error {
	all, done := s.sleepers(0, func(c contender) bool { return !c.coarse && c.Name != "one-worker" })
	defer done()
	debug.FreeOSMemory() // else that is done bit by bit, meanwhile
	s.takeTurns(1, draw, all)
	for _, one := range all {
		one.log = newLateLog() // that was to warm up
	}
	for range s.rounds() {
		s.takeTurns(times, draw, all)
		s.wakeups(times/3+1, draw, all)
	}
	s.writeLateness(all, title)
	for _, one := range all {
		s.measure("processor time of a wake-up", "µs").add(one.Name, 1, one.cpu...)
	}
	return nil
}

func (s *sheet) writeLateness(all []*sleeper, title string) {
	var series []Series
	for _, one := range all {
		one.log.write(s, one.Name, 1)
		if one.log.all.TotalCount() > 0 {
			series = append(series, one.log.curve(one.Name))
		}
	}
	s.plot(latenessPlot(title, series))
}

// saturated measures the same while every processor has a goroutine that does not let go of it.
func saturated(s *sheet) error {
	all, done := s.sleepers(0, func(c contender) bool { return !c.coarse && c.Name != "one-worker" })
	defer done()
	defer occupy(runtime.GOMAXPROCS(0))()
	for range s.rounds() {
		s.takeTurns(pick(s, 3, 10), between(time.Millisecond, 20*time.Millisecond), all)
	}
	s.writeLateness(all, "One timer of 1 to 20 ms at a time, all processors busy")
	return nil
}

// occupy keeps processors busy until the function returned is called.
func occupy(procs int) (release func()) {
	var stop atomic.Bool
	var busy sync.WaitGroup
	for range procs {
		busy.Go(func() {
			for !stop.Load() {
			}
		})
	}
	return func() {
		stop.Store(true)
		busy.Wait()
	}
}
