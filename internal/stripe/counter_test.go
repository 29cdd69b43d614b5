package stripe

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// counters returns one Counter of each kind: the zero value, few stripes, many, and the default.
func counters() map[string]*Counter {
	return map[string]*Counter{"zero value": {}, "1": New(1), "2": New(2), "64": New(64), "default": New(0)}
}

// addDeep calls Add from n frames further down the stack, so that one goroutine changes several
// stripes.
//
//go:noinline
func addDeep(c *Counter, delta int64, n int) byte {
	var frame [512]byte
	if n == 0 {
		c.Add(delta)
		return frame[0]
	}
	frame[n] = addDeep(c, delta, n-1)
	return frame[n/2]
}

// together runs f(0) to f(n-1) on n goroutines, which it starts at the same time. It returns
// when all are done.
func together(n int, f func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

func TestStripesAreRoundedUpToAPowerOfTwo(t *testing.T) {
	for _, tt := range []struct{ ask, want int }{
		{1, 1}, {2, 2}, {3, 4}, {4, 4}, {5, 8}, {513, 1024}, {1023, 1024}, {1024, 1024}, {1025, 1024}, {math.MaxInt, 1024},
	} {
		if got := len(New(tt.ask).stripes); got != tt.want {
			t.Errorf("New(%d) has %d stripes, want %d", tt.ask, got, tt.want)
		}
	}
}

func TestTheDefaultHasStripesForEveryP(t *testing.T) {
	for _, ask := range []int{0, -1, math.MinInt} {
		n := len(New(ask).stripes)
		if n&(n-1) != 0 || n < min(4*runtime.GOMAXPROCS(0), 1024) {
			t.Errorf("New(%d) has %d stripes for %d Ps", ask, n, runtime.GOMAXPROCS(0))
		}
	}
}

func TestEveryHintHasAStripeAndEveryStripeAHint(t *testing.T) {
	for n := 1; n <= maxStripes; n *= 2 {
		c := New(n)
		for i := range n {
			first := uint64(i) << 32 / uint64(n)
			last := uint64(i+1)<<32/uint64(n) - 1
			if first>>c.shift != uint64(i) || last>>c.shift != uint64(i) {
				t.Errorf("%d stripes: hints %#x and %#x lead to stripes %d and %d, want %d",
					n, first, last, first>>c.shift, last>>c.shift, i)
			}
		}
	}
}

func TestNoTwoStripesShareACacheLine(t *testing.T) {
	if size := unsafe.Sizeof(stripe{}); size != line {
		t.Errorf("a stripe has %d bytes, want %d", size, line)
	}
	if size := unsafe.Sizeof(Counter{}); size != line {
		t.Errorf("a Counter has %d bytes, want %d", size, line)
	}
	for n := 1; n <= maxStripes; n *= 2 {
		c := New(n)
		first := uintptr(unsafe.Pointer(&c.stripes[0].n))
		for i := range c.stripes {
			if at := uintptr(unsafe.Pointer(&c.stripes[i].n)); at != first+uintptr(i)*line {
				t.Errorf("%d stripes: number %d is %d bytes behind the first, want %d", n, i, at-first, i*line)
			}
		}
		if first%line != 0 {
			t.Errorf("%d stripes: the first is %d bytes into a cache line", n, first%line)
		}
		if at := uintptr(unsafe.Pointer(c)); at%line != 0 {
			t.Errorf("%d stripes: the Counter is %d bytes into a cache line", n, at%line)
		}
	}
}

func TestTheZeroCounterIsOneStripe(t *testing.T) {
	var c Counter
	if c.Sum() != 0 || c.Reset() != 0 {
		t.Fatal("not zero to begin with")
	}
	c.Add(5)
	c.Add(-7)
	if c.one.Load() != -2 || c.Sum() != -2 {
		t.Errorf("its stripe is %d, Sum %d, want -2", c.one.Load(), c.Sum())
	}
	if got := c.Reset(); got != -2 || c.Sum() != 0 {
		t.Errorf("Reset took %d and left %d, want -2 and 0", got, c.Sum())
	}
}

func TestSumIsExactWhenAllIsQuiet(t *testing.T) {
	const goroutines, rounds = 16, 2000
	for name, c := range counters() {
		together(goroutines, func(i int) {
			for r := range rounds {
				addDeep(c, int64(i*rounds+r), r%16)
			}
		})
		const n = goroutines * rounds
		if got, want := c.Sum(), int64(n*(n-1)/2); got != want {
			t.Errorf("%s: Sum is %d, want %d", name, got, want)
		}
	}
}

func TestEqualDecrementsBringItBackToZero(t *testing.T) {
	for name, c := range counters() {
		together(16, func(i int) {
			// The second half subtracts what the first half adds, on other stacks and depths.
			delta := int64(1 - i/8*2)
			for r := range 2000 {
				addDeep(c, delta*int64(r), (r+i)%16)
			}
		})
		if got := c.Sum(); got != 0 {
			t.Errorf("%s: Sum is %d, want 0", name, got)
		}
	}
}

func TestOneStripeMayOweWhatAnotherHas(t *testing.T) {
	c := New(8)
	c.stripes[1].n.Add(40)
	c.stripes[6].n.Add(-38)
	if got := c.Sum(); got != 2 {
		t.Errorf("Sum is %d, want 2", got)
	}
	if got := c.Reset(); got != 2 || c.Sum() != 0 {
		t.Errorf("Reset took %d and left %d, want 2 and 0", got, c.Sum())
	}
	for i := range c.stripes {
		if n := c.stripes[i].n.Load(); n != 0 {
			t.Errorf("stripe %d is %d after Reset", i, n)
		}
	}
}

func TestArithmeticIsModulo2To64(t *testing.T) {
	for name, c := range counters() {
		c.Add(math.MaxInt64)
		addDeep(c, 1, 15)
		if got := c.Sum(); got != math.MinInt64 {
			t.Errorf("%s: Sum is %d, want %d", name, got, int64(math.MinInt64))
		}
		addDeep(c, -1, 7)
		if got := c.Sum(); got != math.MaxInt64 {
			t.Errorf("%s: Sum is %d, want %d", name, got, int64(math.MaxInt64))
		}
	}
}

func TestResetLosesNothingAndTakesNothingTwice(t *testing.T) {
	const adders, resetters, rounds = 8, 2, 5000
	for name, c := range counters() {
		var taken, running atomic.Int64
		running.Store(adders)
		together(adders+resetters, func(i int) {
			if i >= adders {
				for running.Load() > 0 {
					taken.Add(c.Reset())
					runtime.Gosched()
				}
				return
			}
			for r := range rounds {
				addDeep(c, int64(r-i), r%16)
			}
			running.Add(-1)
		})
		want := int64(0)
		for i := range adders {
			want += rounds*(rounds-1)/2 - rounds*int64(i)
		}
		if got := taken.Load() + c.Sum(); got != want {
			t.Errorf("%s: %d taken and %d left, together %d, want %d", name, taken.Load(), c.Sum(), got, want)
		}
	}
}

func TestSumIsABoundWhileAllAddsHaveOneSign(t *testing.T) {
	for _, delta := range []int64{1, -1} {
		for name, c := range counters() {
			// In steps of delta: done <= the value of the counter <= begun.
			var begun, done, running atomic.Int64
			const adders = 4
			running.Store(adders)
			together(adders+1, func(i int) {
				if i < adders {
					for r := range 5000 {
						begun.Add(1)
						addDeep(c, delta, r%16)
						done.Add(1)
					}
					running.Add(-1)
					return
				}
				for last := int64(0); running.Load() > 0; runtime.Gosched() {
					atLeast := done.Load()
					got := c.Sum() * delta
					atMost := begun.Load()
					if got < atLeast || got > atMost {
						t.Errorf("%s, %+d: Sum is %d steps, not within %d and %d", name, delta, got, atLeast, atMost)
						return
					}
					if got < last {
						t.Errorf("%s, %+d: Sum went back from %d steps to %d", name, delta, last, got)
						return
					}
					last = got
				}
			})
		}
	}
}

func TestAddSumAndResetDoNotAllocate(t *testing.T) {
	for name, c := range counters() {
		// AllocsPerRun rounds an average down, so the whole loop is one run of it.
		if n := testing.AllocsPerRun(1, func() {
			for range 1000 {
				c.Add(1)
				if c.Sum() < 1 || c.Reset() < 1 {
					t.Fatal("an Add was lost")
				}
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations in 1000 runs, want none", name, n)
		}
	}
}
