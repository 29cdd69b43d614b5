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

// A lateLog records how late the timers of one contender were. It is not safe for concurrent use.
type lateLog struct {
	all    *hdrhistogram.Histogram   // nanoseconds, over all rounds
	rounds []*hdrhistogram.Histogram // the same for each round that has ended
	round  []float64                 // microseconds, of the current round
	median []float64                 // by round
	p90    []float64
	early  int
}

func newLateLog() *lateLog { return &lateLog{all: newLateHistogram()} }

func newLateHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(5*time.Minute), 3)
}

// add records how late one timer was. A timer that fired early counts as on time in the histogram, and in early.
func (l *lateLog) add(late time.Duration) {
	if late < 0 {
		l.early++
	}
	l.round = append(l.round, float64(late)/1e3)
	_ = l.all.RecordValue(inRange(int64(late))) // never fails: the value is in range
}

// inRange returns the nearest value that a histogram can record.
func inRange(ns int64) int64 { return min(max(ns, 1), int64(5*time.Minute)) }

func (l *lateLog) endRound() {
	if len(l.round) == 0 {
		return
	}
	s := sorted(l.round)
	l.median = append(l.median, quantile(s, 0.5))
	l.p90 = append(l.p90, quantile(s, 0.9))
	h := newLateHistogram()
	for _, us := range l.round {
		_ = h.RecordValue(inRange(int64(us * 1e3)))
	}
	l.rounds = append(l.rounds, h)
	l.round = l.round[:0]
}

// rare returns a high percentile in microseconds, for each round that of all other rounds. One round has too few timers
// for it. A ratio of two such percentiles has a spread: a few late timers in one round do not decide, because they are
// missing in one of the figures. If there is only one round, the figure is that of the round.
func (l *lateLog) rare(percentile float64) []float64 {
	if len(l.rounds) < 2 {
		return []float64{float64(l.all.ValueAtPercentile(percentile)) / 1e3}
	}
	var figures []float64
	others := newLateHistogram()
	for left := range l.rounds {
		others.Reset()
		for i, h := range l.rounds {
			if i != left {
				others.Merge(h)
			}
		}
		figures = append(figures, float64(others.ValueAtPercentile(percentile))/1e3)
	}
	return figures
}

// rareMin is how many timers must be later than a percentile for it to be compared. With fewer, it says how late one or
// two timers were, which chance decides.
const rareMin = 10

// addTo adds the figures to a run. Medians and 90th percentiles are compared round by round, higher percentiles as rare
// says, and only if rareMin timers are later. So the latest timer is never compared.
func (l *lateLog) addTo(s *scenarioRun, contender string, n int) {
	l.endRound()
	if l.all.TotalCount() == 0 {
		return
	}
	rare := func(name string, q float64) {
		r := s.measure(name, "µs").add(contender, n, l.rare(q)...)
		count := l.all.TotalCount()
		r.few = float64(count)*(100-q) < 100*rareMin
		if r.few && q < 100 {
			r.note(fmt.Sprintf("of %s timers in all, too few to compare", Thousands(int(count))))
		}
	}
	m := s.measure("late by, median", "µs")
	m.Main = true
	m.add(contender, n, l.median...).early = l.early
	s.measure("late by, 9 of 10 less than", "µs").add(contender, n, l.p90...)
	rare("late by, 99 of 100 less than", 99)
	rare("late by, 999 of 1,000 less than", 99.9)
	rare("late by, at most", 100)
	s.measure("fired early", "").neutral().add(contender, n, float64(l.early)).early = l.early
}

// plottedShares are the points of a curve of lateness.
var plottedShares = []float64{0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 1}

// curve returns the lateness in microseconds that is not exceeded, against the share of timers.
func (l *lateLog) curve(contender string) Series {
	c := Series{Contender: contender}
	for _, q := range plottedShares {
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

// A sleeper is an instance that fires one timer at a time.
type sleeper struct {
	*instance
	log *lateLog
	cpu []float64 // microseconds for each wake-up, by round
}

func (s *scenarioRun) sleepers(n int, keep func(contender) bool) (all []*sleeper, done func()) {
	instances, done := s.instances(n, keep)
	for _, in := range instances {
		all = append(all, &sleeper{instance: in, log: newLateLog()})
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
		return 0, fmt.Errorf("a timer of %v has not fired a minute after its deadline", d)
	}
}

// sleepInTurn lets all sleepers sleep for the same delays, one sleeper after the other.
func (s *scenarioRun) sleepInTurn(times int, draw func() time.Duration, all []*sleeper) {
	for range times {
		d := draw()
		for _, one := range all {
			if s.ctx.Err() != nil || one.excluded {
				continue
			}
			late, err := one.sleep(d)
			if err != nil {
				one.excluded = true
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

// measureWakeups lets each sleeper sleep several times in a row and measures the processor time. In a row, because
// a thread that has woken a goroutine keeps looking for work for a moment. That time belongs to the sleeper that
// caused it.
func (s *scenarioRun) measureWakeups(times int, draw func() time.Duration, all []*sleeper) {
	delays := make([]time.Duration, times)
	for i := range delays {
		delays[i] = draw()
	}
	for _, one := range all {
		cpu := processCPU()
		for _, d := range delays {
			if s.ctx.Err() != nil || one.excluded {
				return
			}
			if _, err := one.sleep(d); err != nil {
				one.excluded = true
				s.fail(one.Name, 1, err)
				break
			}
		}
		one.cpu = append(one.cpu, max(float64((processCPU()-cpu).Nanoseconds()), 1)/1e3/float64(times))
	}
}

// between returns a function that returns random delays.
func between(least, most time.Duration) func() time.Duration {
	return func() time.Duration { return least + rand.N(most-least) }
}

// sparseTimers measures how late a single timer is while the process does nothing else, and what a wake-up costs.
func sparseTimers(s *scenarioRun) error {
	return s.singleTimer(between(50*time.Microsecond, 20*time.Millisecond), pick(s, 8, 250), "One timer of 50 µs to 20 ms at a time")
}

// subMillisecond does the same with short delays, which the standard library rounds up.
func subMillisecond(s *scenarioRun) error {
	return s.singleTimer(between(20*time.Microsecond, 900*time.Microsecond), pick(s, 50, 200), "One timer of 20 to 900 µs at a time")
}

// singleTimer measures one timer at a time, with delays from draw.
func (s *scenarioRun) singleTimer(draw func() time.Duration, times int, title string) error {
	all, done := s.sleepers(0, func(c contender) bool { return !c.coarseTick && c.Name != "one-worker" })
	defer done()
	debug.FreeOSMemory() // otherwise the runtime would do so in the background meanwhile
	s.sleepInTurn(1, draw, all)
	for _, one := range all {
		one.log = newLateLog() // what was measured until now was to warm up
	}
	for range s.rounds() {
		s.sleepInTurn(times, draw, all)
		s.measureWakeups(times/3+1, draw, all)
	}
	s.addLateness(all, title)
	for _, one := range all {
		s.measure("processor time of a wake-up", "µs").add(one.Name, 1, one.cpu...)
	}
	return nil
}

func (s *scenarioRun) addLateness(all []*sleeper, title string) {
	var series []Series
	for _, one := range all {
		one.log.addTo(s, one.Name, 1)
		if one.log.all.TotalCount() > 0 {
			series = append(series, one.log.curve(one.Name))
		}
	}
	s.plot(latenessPlot(title, series))
}

// saturated measures how late a single timer is while every processor runs a goroutine that never blocks.
func saturated(s *scenarioRun) error {
	all, done := s.sleepers(0, func(c contender) bool { return !c.coarseTick && c.Name != "one-worker" })
	defer done()
	defer occupy(runtime.GOMAXPROCS(0))()
	for range s.rounds() {
		s.sleepInTurn(pick(s, 3, 10), between(time.Millisecond, 20*time.Millisecond), all)
	}
	s.addLateness(all, "One timer of 1 to 20 ms at a time, all processors busy")
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
