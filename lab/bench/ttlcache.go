package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/foliot-go/foliot/examples/ttl"
)

// A cache maps keys to numbers that expire. A key is given by its index.
type cache struct {
	get   func(i int) bool
	set   func(i int) bool
	size  func() int
	close func()
}

// A cacheMaker makes an empty cache whose entries live for a fixed time.
type cacheMaker func(life time.Duration) cache

// cacheKey returns the key of an index. Keys are spread over all numbers.
func cacheKey(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 }

func newExampleCache(life time.Duration) cache {
	m := ttl.New(ttl.Options[uint64, uint64]{})
	return cache{
		get:   func(i int) bool { v, ok := m.Get(cacheKey(i)); return ok && v == uint64(i) },
		set:   func(i int) bool { return m.Set(cacheKey(i), uint64(i), life) == nil },
		size:  m.Len,
		close: func() { m.Close() },
	}
}

func newOtterCache(life time.Duration) cache {
	m := otter.Must(&otter.Options[uint64, uint64]{ExpiryCalculator: otter.ExpiryWriting[uint64, uint64](life)})
	return cache{
		get:   func(i int) bool { v, ok := m.GetIfPresent(cacheKey(i)); return ok && v == uint64(i) },
		set:   func(i int) bool { m.Set(cacheKey(i), uint64(i)); return true },
		size:  func() int { m.CleanUp(); return m.EstimatedSize() },
		close: func() { m.StopAllGoroutines() },
	}
}

// each does ops operations on random entries, on g goroutines. It returns how many failed.
func each(order []uint32, g, ops int, do func(i int) bool) int {
	return parallel(g, ops, func(from, to int) (failed int) {
		at := rand.IntN(len(order))
		for range to - from {
			if at++; at == len(order) {
				at = 0
			}
			if !do(int(order[at])) {
				failed++
			}
		}
		return failed
	})
}

// ttlCache measures caches whose entries expire: numbers as keys and as values.
func ttlCache(r *run) error {
	n := r.n
	order := make([]uint32, n)
	for i, k := range rand.Perm(n) {
		order[i] = uint32(k)
	}
	makers := enter(r, []maker[cacheMaker]{{"otter", always(cacheMaker(newOtterCache))}, {"ttl", always(cacheMaker(newExampleCache))}})
	if r.measures("ttl-memory", "ttl-expired") {
		turns(r, 1, makers, func(_ int, e *entrant[cacheMaker]) ([]result, error) { return e.it.memory(r, order) })
	}
	filled := make([]maker[cache], len(makers))
	for i, m := range makers {
		filled[i] = maker[cache]{m.name, func() (cache, error) {
			c := m.it(time.Hour)
			each(order, 1, n, c.set)
			return c, nil
		}}
	}
	all := enter(r, filled)
	defer func() {
		for _, e := range all {
			e.it.close()
		}
	}()
	for _, g := range []int{1, runtime.GOMAXPROCS(0)} {
		for _, name := range []string{"ttl-get", "ttl-set"} {
			if !r.measures(name) {
				continue
			}
			turns(r, r.rounds, all, func(_ int, e *entrant[cache]) ([]result, error) {
				do := e.it.get
				if name == "ttl-set" {
					do = e.it.set
				}
				return e.cost(r, work{
					name: name, key: fmt.Sprintf("goroutines=%d/%s", g, count(n)), garbage: true, most: 2 * n,
					do: func(ops int) int { return each(order, g, ops, do) },
				})
			})
		}
	}
	return nil
}

// memory measures the memory of a cache with an entry for each index, the work that it is for the garbage collector,
// and the memory that is left when all entries have expired.
func (m cacheMaker) memory(r *run, order []uint32) ([]result, error) {
	n := len(order)
	c := m(time.Hour)
	waitForSteadyHeap()
	gc, before := gcTime(), heapBytes()
	failed := each(order, 1, n, c.set)
	bytes := float64(heapBytes()-before) / float64(n)
	gc = max(gcTime()-gc, 0)
	c.close()
	if failed != 0 {
		return nil, failedOps(failed, n)
	}
	life := pick(r, 300*time.Millisecond, 3*time.Second)
	c = m(life)
	defer c.close()
	waitForSteadyHeap()
	before = heapBytes()
	each(order, 1, n, c.set)
	for end := time.Now().Add(life + 10*time.Second); c.size() > 0; time.Sleep(10 * time.Millisecond) {
		if r.ctx.Err() != nil || time.Now().After(end) {
			return nil, fmt.Errorf("%d of %d entries have not expired after %v", c.size(), n, life+10*time.Second)
		}
	}
	time.Sleep(50 * time.Millisecond)
	left := max(float64(heapBytes()-before)/float64(n), 0.01)
	runtime.KeepAlive(c)
	return []result{
		{"ttl-memory", count(n), n, []value{{bytes, "B/entry"}, {gc, "cpu-ns/gc"}}},
		{"ttl-expired", count(n), n, []value{{left, "B/entry"}}},
	}, nil
}
