package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// timerBytes is what all contenders together take for each timer, garbage included.
const timerBytes = 700

// requests measures timeouts that almost never fire, with more and more timers outstanding. With the usual number there
// are more benchmarks.
func requests(r *run) error {
	if r.measures("arm-and-stop-empty") {
		all, done := r.filled(0, timerMakers)
		turns(r, r.rounds, all, func(_ int, e *entrant[timers]) ([]result, error) {
			return e.cost(r, work{
				name: "arm-and-stop-empty", garbage: true, most: 2*r.n + 1000,
				do: func(ops int) int { return e.it.armAndStop(0, ops) },
			})
		})
		done()
	}
	sizes := pick(r, []int{r.n / 10, r.n}, []int{r.n / 100, r.n / 10, r.n, 10 * r.n})
	for _, n := range sizes {
		if n < 1 || r.ctx.Err() != nil {
			continue
		}
		if memory := machine().bytes; memory > 0 && int64(n)*timerBytes > memory/2 {
			r.note(fmt.Sprintf("requests/%s", count(n)), errors.New("not measured for want of memory"))
			continue
		}
		all, done := r.filled(n, timerMakers)
		outstanding(r, all, n)
		if n == r.n {
			newTimers(r, all)
		}
		done()
	}
	return nil
}

// outstanding measures arm and stop, and operations on outstanding timers: a later deadline, as an idle timeout sets it,
// an earlier one, and stopping. The timers are picked at random, so most of the cost is cache misses.
func outstanding(r *run, all []*entrant[timers], n int) {
	rounds := r.rounds
	if n > r.n {
		rounds = r.few(3) // a garbage collection takes a second
	}
	key := count(n)
	if r.measures("arm-and-stop") {
		// Twice as many operations as outstanding timers: enough for the standard library to leave the garbage that
		// starts a collection.
		turns(r, rounds, all, func(_ int, e *entrant[timers]) ([]result, error) {
			return e.cost(r, work{
				name: "arm-and-stop", key: key, garbage: true, most: 2*n + 1000,
				do: func(ops int) int { return e.it.armAndStop(0, ops) },
			})
		})
	}
	for _, kind := range []struct {
		name    string
		indexes func(n int) []int
		do      func(t timers, indexes []int, round int) (failed int)
		refill  bool
		always  bool // for all numbers of timers
	}{
		{name: "reset-later", indexes: randomIndexes, always: true, do: func(t timers, indexes []int, round int) int {
			return t.reset(indexes, 3*farAhead+time.Duration(round)*time.Second)
		}},
		{name: "reset-hot", indexes: hotIndexes, do: func(t timers, indexes []int, round int) int {
			return t.reset(indexes, 4*farAhead+time.Duration(round)*time.Second)
		}},
		{name: "reset-at", indexes: randomIndexes, do: func(t timers, indexes []int, round int) int {
			return t.resetAt(indexes, time.Now().Add(5*farAhead+time.Duration(round)*time.Second))
		}},
		{name: "reset-earlier", indexes: distinctIndexes, do: func(t timers, indexes []int, round int) int {
			return t.reset(indexes, max(farAhead-time.Duration(round+1)*10*time.Second, farAhead/10))
		}},
		{name: "stop-at-random", indexes: distinctIndexes, refill: true, always: true, do: func(t timers, indexes []int, _ int) int {
			return t.stop(indexes)
		}},
	} {
		if !r.measures(kind.name) || n != r.n && !kind.always {
			continue
		}
		drawn := perRound(func() []int { return kind.indexes(n) })
		turns(r, rounds, all, func(round int, e *entrant[timers]) ([]result, error) {
			indexes := drawn(round)
			w := work{
				name: kind.name, key: key, most: len(indexes),
				do: func(ops int) int { return kind.do(e.it, indexes[:ops], round) },
			}
			if kind.refill {
				w.cleanup = func(ops int) int { return e.it.refill(indexes[:ops]) }
			}
			return e.cost(r, w)
		})
	}
}

// randomIndexes returns random indexes below n.
func randomIndexes(n int) []int {
	indexes := make([]int, min(n, 200_000))
	for i := range indexes {
		indexes[i] = rand.IntN(n)
	}
	return indexes
}

// distinctIndexes returns random indexes below n, each at most once, about a fifth of all.
func distinctIndexes(n int) []int { return rand.Perm(n)[:min(n/5+1, 200_000)] }

// hotIndexes returns random indexes below a thousand: these timers stay in the processor cache.
func hotIndexes(n int) []int {
	indexes := make([]int, min(n, 400_000))
	for i := range indexes {
		indexes[i] = rand.IntN(min(n, 1000))
	}
	return indexes
}

// newTimers measures timers that are armed and stopped in other ways, while others are outstanding.
func newTimers(r *run, all []*entrant[timers]) {
	key, most := count(r.n), 2*r.n+1000
	for _, w := range []struct {
		name, key string
		do        func(t timers, ops int) int
	}{
		{"requests-some-late", key, func(t timers, ops int) int { return t.requests(0, ops) }},
		{"arm-and-stop-parallel", "goroutines=2/" + key, func(t timers, ops int) int { return parallel(2, ops, t.armAndStop) }},
		{"arm-and-stop-parallel", "goroutines=8/" + key, func(t timers, ops int) int { return parallel(8, ops, t.armAndStop) }},
		{"arm-stop-elsewhere", key, timers.handOver},
	} {
		if !r.measures(w.name) {
			continue
		}
		turns(r, r.rounds, all, func(_ int, e *entrant[timers]) ([]result, error) {
			return e.cost(r, work{name: w.name, key: w.key, garbage: true, most: most, do: func(ops int) int { return w.do(e.it, ops) }})
		})
	}
	if !r.measures("register", "register-and-stop") {
		return
	}
	turns(r, r.rounds, all, func(_ int, e *entrant[timers]) ([]result, error) {
		var stopped cost
		got, err := e.cost(r, work{
			name: "register", key: key, garbage: true, most: max(r.n, batchSize), do: e.it.register,
			cleanup: func(ops int) (failed int) {
				stopped, _ = measureCost(ops, false, func() int { failed = e.it.unregister(ops); return failed })
				return failed
			},
		})
		if err != nil {
			return nil, err
		}
		v := got[0].values
		both := cost{v[0].v + stopped.cpu, v[1].v + stopped.wall, v[2].v + stopped.allocs}
		return append(got, both.result("register-and-stop", key, got[0].ops)), nil
	})
}

// handOver arms timers on one goroutine and stops them on another. It returns how many could not be stopped. The
// timers are handed over in batches, because otherwise the cost of the channel would dominate.
func handOver[T any](ops int, arm func(i int) T, stop func(T) bool) (failed int) {
	full, empty := make(chan []T, 4), make(chan []T, 4)
	for range cap(empty) {
		empty <- make([]T, 0, 500)
	}
	go func() {
		defer close(full)
		for i := 0; i < ops; {
			batch := (<-empty)[:0]
			for ; i < ops && len(batch) < cap(batch); i++ {
				batch = append(batch, arm(i))
			}
			full <- batch
		}
	}()
	for batch := range full {
		for _, t := range batch {
			if !stop(t) {
				failed++
			}
		}
		empty <- batch
	}
	return failed
}
