package engine

import (
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

// cacheLine is the distance at which two words are on different cache lines wherever the struct
// begins.
const cacheLine = 64

// offsetOf returns the offset of a field of the engine, given as a path of field names, and its
// size.
func offsetOf(t *testing.T, path ...string) (from, size uintptr) {
	t.Helper()
	typ := reflect.TypeFor[Engine]()
	for _, name := range path {
		f, ok := typ.FieldByName(name)
		if !ok {
			t.Fatalf("%v has no field %s", typ, name)
		}
		from += f.Offset
		typ = f.Type
	}
	return from, typ.Size()
}

// A word that is written for each turn of a worker must not be on a cache line that every arm
// reads: each write would make all processors fetch the line again.
func TestWordsThatAreOftenWrittenAreOnOtherCacheLinesThanThoseThatEveryArmReads(t *testing.T) {
	read := [][]string{
		{"Clock"},
		{"Config"},
		{"roster", "workers"},
		{"roster", "openShards"},
		{"roster", "shards"},
		{"closed"},
		{"scrubber", "state"},
		{"settling"},
		{"quota", "max"},
		{"timekeeper", "wakeAt"},
		{"timekeeper", "notBefore"},
		{"timekeeper", "parking"},
	}
	written := [][]string{{"counters"}, {"goroutines"}, {"batchMu"}, {"quota", "used"}}
	for _, r := range read {
		for _, w := range written {
			rFrom, rSize := offsetOf(t, r...)
			wFrom, wSize := offsetOf(t, w...)
			// The distance between the last byte of one and the first byte of the other.
			if wFrom < rFrom+rSize+cacheLine-1 && rFrom < wFrom+wSize+cacheLine-1 {
				t.Errorf("%v is at %d to %d and %v at %d to %d: they may share a cache line", r, rFrom, rFrom+rSize, w, wFrom, wFrom+wSize)
			}
		}
	}
}

// Goroutines that find their shards locked must not all go to the same shard.
func TestGoroutinesThatFindTheirShardsLockedUseDifferentShards(t *testing.T) {
	eng, err := New(Config{Workers: 64})
	if err != nil {
		t.Fatal(err)
	}
	open := *eng.openShards.Load()
	used := map[*Shard]int{}
	for i, first := range open {
		first.mu.Lock()
		s := lockAnyShard(open, i)
		s.mu.Unlock()
		first.mu.Unlock()
		if s == first {
			t.Fatalf("shard %d is locked twice", i)
		}
		used[s]++
	}
	for s, n := range used {
		if n > 1 {
			t.Errorf("%d of %d goroutines use shard %d", n, len(open), s.number)
		}
	}
	for _, s := range open[1:] {
		s.mu.Lock()
	}
	if s := lockAnyShard(open, len(open)-1); s != open[0] {
		t.Errorf("shard %d is locked, the only one that was free is %d", s.number, open[0].number)
	}
}

// The driver must not run the callbacks of all workers one after the other.
func TestTheDriverRunsCallbacksItselfForPassTimeOnly(t *testing.T) {
	withManyProcessors(t, func(t *testing.T) {
		const length = 400 * time.Microsecond // of a callback
		eng := newSharedEngine(t, Config{perWorker: 1})
		withoutDriver(eng)
		me := goroutineID()
		var mu sync.Mutex
		calls := map[string]int{} // by goroutine
		armInEachShard(t, eng, 1, 0, func() {
			for end := time.Now().Add(length); time.Now().Before(end); {
			}
			mu.Lock()
			defer mu.Unlock()
			calls[goroutineID()]++
		})
		time.Sleep(time.Millisecond) // until the tick of the last timer has come
		eng.timekeeper.runDue(&driver{epoch: 1})
		total := func() (n int) {
			mu.Lock()
			defer mu.Unlock()
			for _, c := range calls {
				n += c
			}
			return n
		}
		testkit.Eventually(t, "all callbacks have run", func() bool { return total() == runtime.GOMAXPROCS(0) })
		mu.Lock()
		defer mu.Unlock()
		if limit := int(driverPassBudget/int64(length)) + 1; calls[me] > limit {
			t.Errorf("the driver has run %d callbacks itself, want %d at most", calls[me], limit)
		}
	})
}
