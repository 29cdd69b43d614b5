package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"time"

	"github.com/jellydator/ttlcache/v3"
	"github.com/maypok86/otter/v2"
	gocache "github.com/patrickmn/go-cache"

	"github.com/foliot-go/foliot/bench/internal/ttl"
)

// A cache maps keys to numbers that expire. A key is given by its index, so that a cache of strings can have them ready.
type cache struct {
	get   func(i int) bool
	set   func(i int) bool
	size  func() int
	close func()
}

// cacheBase is the contender that the other caches are compared with.
const cacheBase = "go-cache"

// A cacheMaker makes an empty cache for up to n entries that live for a fixed time.
type cacheMaker func(n int, life time.Duration) cache

var cacheMakers = map[string]cacheMaker{
	"ttl":      newExampleCache,
	"go-cache": newGoCache,
	"ttlcache": newTTLCache,
	"otter":    newOtterCache,
}

// cacheKey returns the key of an index. Keys are spread over all numbers.
func cacheKey(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 }

func newExampleCache(_ int, life time.Duration) cache {
	m := ttl.New(ttl.Options[uint64, uint64]{})
	return cache{
		get:   func(i int) bool { v, ok := m.Get(cacheKey(i)); return ok && v == uint64(i) },
		set:   func(i int) bool { return m.Set(cacheKey(i), uint64(i), life) == nil },
		size:  m.Len,
		close: func() { m.Close() },
	}
}

// newGoCache returns a cache whose keys are strings. A key is made when it is first set, because its bytes are part of the
// entry.
func newGoCache(n int, life time.Duration) cache {
	m := gocache.New(life, min(life/4, time.Second))
	keys := make([]string, n)
	return cache{
		get: func(i int) bool { v, ok := m.Get(keys[i]); return ok && v == uint64(i) },
		set: func(i int) bool {
			if keys[i] == "" {
				keys[i] = strconv.FormatUint(cacheKey(i), 36)
			}
			m.SetDefault(keys[i], uint64(i))
			return true
		},
		size:  m.ItemCount,
		close: func() { m.Flush(); clear(keys) }, // its goroutine ends when it is collected
	}
}

func newTTLCache(_ int, life time.Duration) cache {
	m := ttlcache.New(ttlcache.WithTTL[uint64, uint64](life), ttlcache.WithDisableTouchOnHit[uint64, uint64]())
	go m.Start()
	return cache{
		get: func(i int) bool {
			item := m.Get(cacheKey(i))
			return item != nil && item.Value() == uint64(i)
		},
		set:   func(i int) bool { return m.Set(cacheKey(i), uint64(i), ttlcache.DefaultTTL) != nil },
		size:  m.Len,
		close: m.Stop,
	}
}

func newOtterCache(_ int, life time.Duration) cache {
	m := otter.Must(&otter.Options[uint64, uint64]{ExpiryCalculator: otter.ExpiryWriting[uint64, uint64](life)})
	return cache{
		get:   func(i int) bool { v, ok := m.GetIfPresent(cacheKey(i)); return ok && v == uint64(i) },
		set:   func(i int) bool { m.Set(cacheKey(i), uint64(i)); return true },
		size:  func() int { m.CleanUp(); return m.EstimatedSize() },
		close: func() { m.StopAllGoroutines() },
	}
}

// A namedCache is a contender with its cache.
type namedCache struct {
	name string
	cache
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
func ttlCache(s *scenarioRun) error {
	n := s.n
	order := make([]uint32, n)
	for i, k := range rand.Perm(n) {
		order[i] = uint32(k)
	}
	var all []namedCache
	defer func() {
		for _, c := range all {
			c.close()
		}
	}()
	for _, c := range contenders {
		newCache := cacheMakers[c.Name]
		if newCache == nil || !s.opts.wants(c) && c.Name != cacheBase || s.ctx.Err() != nil {
			continue
		}
		if err := s.cacheMemory(c.Name, order, newCache); err != nil {
			s.fail(c.Name, n, err)
			continue
		}
		filled := namedCache{c.Name, newCache(n, time.Hour)}
		each(order, 1, n, filled.set)
		all = append(all, filled)
	}
	procs := runtime.GOMAXPROCS(0)
	ops := pick(s, n, 2*n)
	for round := range s.rounds() {
		for _, work := range []struct {
			name  string
			procs int
			do    func(c cache) func(i int) bool
		}{
			{"Get", 1, func(c cache) func(int) bool { return c.get }},
			{"Set", 1, func(c cache) func(int) bool { return c.set }},
			{"Get on all processors", procs, func(c cache) func(int) bool { return c.get }},
			{"Set on all processors", procs, func(c cache) func(int) bool { return c.set }},
		} {
			for i := range all {
				c := all[(round+i)%len(all)]
				cost, err := measureCost(ops, true, func() int { return each(order, work.procs, ops, work.do(c.cache)) })
				if err != nil {
					s.fail(c.name, n, fmt.Errorf("%s: %w", work.name, err))
					continue
				}
				s.addCost(work.name, work.name == "Get", c.name, n, cost)
				s.measure(work.name+": CPU", "ns").against(cacheBase)
				s.measure(work.name+": wall", "ns").against(cacheBase)
			}
		}
	}
	return nil
}

// cacheMemory measures the memory of a cache with an entry for each index, the work that it is for the garbage
// collector, and the memory that is left when all entries have expired.
func (s *scenarioRun) cacheMemory(name string, order []uint32, newCache cacheMaker) error {
	n := len(order)
	measure := func(what, unit string, v float64) { s.measure(what, unit).against(cacheBase).add(name, n, v) }

	c := newCache(n, time.Hour)
	waitForSteadyHeap()
	gc, before := gcTime(), heapBytes()
	failed := each(order, 1, n, c.set)
	after := heapBytes()
	measure("bytes of an entry", "B", float64(after-before)/float64(n))
	measure("added to a garbage collection: CPU", "ms", max(gcTime().minus(gc).Median, 0.001))
	c.close()
	if failed != 0 {
		return failedOpsError{failed, n}
	}

	life := pick(s, 300*time.Millisecond, 3*time.Second)
	c = newCache(n, life)
	defer c.close()
	waitForSteadyHeap()
	before = heapBytes()
	each(order, 1, n, c.set)
	for end := time.Now().Add(life + 10*time.Second); c.size() > 0; time.Sleep(10 * time.Millisecond) {
		if s.ctx.Err() != nil || time.Now().After(end) {
			return fmt.Errorf("%d of %d entries have not expired after %v", c.size(), n, life+10*time.Second)
		}
	}
	time.Sleep(50 * time.Millisecond)
	measure("bytes of an entry that has expired", "B", max(float64(heapBytes()-before)/float64(n), 0.01))
	runtime.KeepAlive(c)
	return nil
}
