package stackhash

import (
	"math"
	"runtime"
	"testing"
)

func TestAGoroutineKeepsItsHint(t *testing.T) {
	const calls = 100_000
	last, changes := Hint(), 0
	for range calls {
		if h := Hint(); h != last {
			last = h
			changes++
		}
	}
	// The garbage collector may shrink the stack now and then.
	if changes > 20 {
		t.Errorf("the hint changed %d times in %d calls from one place", changes, calls)
	}
}

func TestGoroutinesThatLiveAtTheSameTimeSpreadOverTheIndices(t *testing.T) {
	const goroutines, indices = 64, 8
	index := make(chan int)
	over := make(chan struct{})
	defer close(over)
	for range goroutines {
		go func() {
			index <- Pick(indices)
			<-over // keeps its stack, so that no other goroutine gets it
		}()
	}
	var count [indices]int
	for range goroutines {
		count[<-index]++
	}
	used := 0
	for _, n := range count {
		used += min(n, 1)
	}
	if used < indices/2 {
		t.Errorf("%d goroutines use %d of %d indices: %v", goroutines, used, indices, count)
	}
}

func TestNeighbouringStacksHaveDifferentIndices(t *testing.T) {
	for size := uint64(2 << 10); size <= 128<<10; size *= 2 {
		for _, neighbours := range []uint64{2, 4, 8, 16} {
			indices := int(4 * neighbours)
			for start := range uint64(2000) {
				used := make([]bool, indices)
				for i := range neighbours {
					index := scale(hash(uintptr(0x10000000+(start+i)*size)), indices)
					if used[index] {
						t.Fatalf("stacks of %d bytes: two of %d neighbours from number %d on share one of %d indices",
							size, neighbours, start, indices)
					}
					used[index] = true
				}
			}
		}
	}
}

func TestTheHashDependsOnTheGranuleOnly(t *testing.T) {
	const at = 0x12345800
	want := hash(at)
	for off := range uintptr(1 << granule) {
		if got := hash(at + off); got != want {
			t.Fatalf("hash(%#x) is %#x, that of the granule %#x", at+off, got, want)
		}
	}
	if hash(at+1<<granule) == want || hash(at-1) == want {
		t.Error("the next granule has the same hash")
	}
}

func TestAnIndexIsAlwaysInRange(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 8, 100, 1023, 1024, 1 << 20, math.MaxInt32} {
		if first, last := scale(0, n), scale(math.MaxUint32, n); first != 0 || last != n-1 {
			t.Errorf("of %d indices, the first is %d, the last %d", n, first, last)
		}
		if index := Pick(n); index < 0 || index >= n {
			t.Errorf("Pick(%d) is %d", n, index)
		}
	}
	for _, n := range []int{0, -1, math.MinInt} {
		if index := Pick(n); index != 0 {
			t.Errorf("Pick(%d) is %d, want 0", n, index)
		}
	}
}

func TestIndicesAreEquallyLikely(t *testing.T) {
	for _, n := range []int{1, 3, 8, 12, 100} {
		count := make([]int, n)
		const steps = 1 << 16
		for i := range uint32(steps) {
			count[scale(i<<16, n)]++
		}
		for index, c := range count {
			if c < steps/n || c > steps/n+1 {
				t.Errorf("index %d of %d gets %d hints of %d", index, n, c, steps)
			}
		}
	}
}

// grow makes the stack of its goroutine larger than n KiB and calls f there.
//
//go:noinline
func grow(n int, f func()) byte {
	var frame [1024]byte
	if n == 0 {
		f()
		return frame[0]
	}
	frame[n%len(frame)] = grow(n-1, f)
	return frame[n/2%len(frame)]
}

func TestAStackThatMovesHasAnotherHint(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		before := Hint()
		grow(256, func() {})
		if after := Hint(); after == before {
			t.Error("the stack has grown by 256 KiB, and the hint is the same")
		}
	}()
	<-done
}

func TestHintAndPickDoNotAllocate(t *testing.T) {
	var sum uint32
	if n := testing.AllocsPerRun(1, func() {
		for range 1000 {
			sum += Hint() + uint32(Pick(8))
		}
	}); n != 0 {
		t.Errorf("%v allocations in 1000 runs, want none", n)
	}
	runtime.KeepAlive(sum)
}
