package contract_test

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	"github.com/foliot-go/foliot/wheel"
)

// An expiry is a log of the values that an Expirer has let expire.
type expiry struct {
	mu     sync.Mutex
	values []int
	sizes  []int // of the batches
}

func (x *expiry) add(values []int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.values = append(x.values, values...)
	x.sizes = append(x.sizes, len(values))
}

func (x *expiry) list() []int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.values)
}

// want waits until these values have expired, in this order, and no others.
func (x *expiry) want(t testing.TB, c testClock, want ...int) {
	t.Helper()
	ok := testkit.TrueWithin(testkit.Timeout, func() bool {
		c.pass(0) // a manual clock runs what is due
		return len(x.list()) >= len(want)
	})
	if got := x.list(); !ok || !slices.Equal(got, want) {
		t.Fatalf("%v have expired, want %v", got, want)
	}
}

// pushExpiring calls Push, which must succeed.
func pushExpiring[V any](t testing.TB, e *foliot.Expirer[V], d time.Duration, v V) wheel.Handle {
	t.Helper()
	h, err := e.Push(d, v)
	if err != nil || h == 0 {
		t.Fatalf("Push(%v) returns %v, %v", d, h, err)
	}
	return h
}

func TestValuesExpireInOrderAndNotEarly(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		x := &expiry{}
		due := map[int]time.Time{}
		e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: r, Expired: func(values []int) {
			for _, v := range values {
				if c.now().Before(due[v]) {
					t.Errorf("%d expires %v early", v, due[v].Sub(c.now()))
				}
			}
			x.add(values)
		}})
		for v, d := range []time.Duration{40, 20, 60, -5, 0, 80} {
			due[v] = c.now().Add(d * millisecond)
		}
		var handles []wheel.Handle
		for v, d := range []time.Duration{40, 20, 60, -5, 0, 80} {
			handles = append(handles, pushExpiring(t, e, d*millisecond, v))
		}
		if _, left, ok := e.Lookup(handles[5]); !ok || left <= 0 || left > 82*millisecond {
			t.Errorf("Lookup returns %v, %t, want some 80ms, true", left, ok)
		}
		c.pass(100 * millisecond)
		x.want(t, c, 3, 4, 1, 0, 2, 5)
		for _, h := range handles {
			if _, _, ok := e.Lookup(h); ok || e.Reset(h, hour) {
				t.Error("the handle of a value that has expired names a value")
			}
			if _, ok := e.Remove(h); ok {
				t.Error("a value that has expired can be cancelled")
			}
		}
	})
}

func TestAnEarlierDeadlineWakesAnExpirer(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		x := &expiry{}
		e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: r, Expired: x.add})
		h := pushExpiring(t, e, hour, 1)
		pushExpiring(t, e, 10*millisecond, 2)
		c.pass(20 * millisecond)
		x.want(t, c, 2)
		if !e.Reset(h, 10*millisecond) {
			t.Fatal("Reset returns false")
		}
		c.pass(20 * millisecond)
		x.want(t, c, 2, 1)
	})
}

func TestAValueThatIsResetOrRemovedDoesNotExpireBefore(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		x := &expiry{}
		e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: r, Expired: x.add})
		later := pushExpiring(t, e, 30*millisecond, 1)
		gone := pushExpiring(t, e, 30*millisecond, 2)
		pushExpiring(t, e, 40*millisecond, 3)
		e.Reset(later, 60*millisecond)
		if v, ok := e.Remove(gone); !ok || v != 2 {
			t.Errorf("Remove returns %d, %t, want 2, true", v, ok)
		}
		c.pass(80 * millisecond)
		x.want(t, c, 3, 1)
	})
}

func TestTheLockOfACacheMakesExpiryAtomic(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		var mu sync.RWMutex
		keys := map[int]wheel.Handle{}
		var e *foliot.Expirer[int]
		again := true
		e = foliot.NewExpirer(foliot.ExpirerOptions[int]{
			Runtime: r,
			Locker:  &mu,
			Evict: func(key int) {
				if mu.TryRLock() {
					t.Error("Evict is called without the lock")
					mu.RUnlock()
				}
				delete(keys, key)
				if key == 7 && again { // Evict may use the Expirer
					again = false
					keys[key], _ = e.Push(0, key)
				}
			},
		})
		for key := range 100 {
			mu.Lock()
			keys[key], _ = e.Push(time.Duration(key)*millisecond/10, key)
			mu.Unlock()
		}
		c.pass(20 * millisecond)
		testkit.Eventually(t, "all keys have expired", func() bool {
			c.pass(0)
			mu.Lock()
			defer mu.Unlock()
			if e.Len() != len(keys) {
				t.Errorf("the Expirer has %d values and the map has %d keys", e.Len(), len(keys))
			}
			for key, h := range keys {
				if p := e.ValueLocked(h); p == nil || *p != key {
					t.Errorf("key %d is in the map and not in the Expirer", key)
				}
			}
			return len(keys) == 0
		})
		if again {
			t.Error("key 7 has not expired")
		}
	})
}

func TestNoBatchIsLargerThanItMayBe(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		x := &expiry{}
		e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: r, Expired: x.add, Batch: 7})
		var want []int
		for v := range 100 {
			pushExpiring(t, e, millisecond, v)
			want = append(want, v)
		}
		c.pass(5 * millisecond)
		x.want(t, c, want...)
		if slices.Max(x.sizes) > 7 {
			t.Errorf("batches of %v values, want at most 7", x.sizes)
		}
	})
}

func TestNoBatchIsLargerThanItMayBeAfterAPanic(t *testing.T) {
	for name, do := range map[string]func(){"panic": func() { panic("on purpose") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			r, clock := kit.NewManual(t, foliot.Options{OnPanic: func(any, []byte) {}})
			x := &expiry{}
			e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: r, Evict: func(int) { do() }, Expired: x.add, Batch: 2})
			var want []int
			for v := range 11 {
				pushExpiring(t, e, millisecond, v)
				want = append(want, v)
			}
			testkit.Returns(t, "Advance", func() { clock.Advance(second) })
			if !slices.Equal(x.values, want) || slices.Max(x.sizes) > 2 {
				t.Errorf("%v have expired in batches of %v, want %v in batches of at most 2", x.values, x.sizes, want)
			}
		})
	}
}

func TestAValueExpiresAtTheEndOfTime(t *testing.T) {
	for _, res := range []time.Duration{0, 1, second, 24 * hour} {
		for _, tick := range []time.Duration{0, 1, millisecond} {
			r, clock := kit.NewManual(t, foliot.Options{Resolution: tick})
			x := &expiry{}
			e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: r, Expired: x.add, Resolution: res})
			pushExpiring(t, e, math.MaxInt64, 1)
			h := pushExpiring(t, e, hour, 2)
			if !e.Reset(h, math.MaxInt64-1) {
				t.Fatal("Reset to the end of time returns false")
			}
			clock.Advance(math.MaxInt64 / 2)
			if len(x.values) > 0 {
				t.Fatalf("resolution %v of %v: %v expired after half of the time", res, tick, x.values)
			}
			testkit.Returns(t, "Advance", func() { clock.Advance(math.MaxInt64) })
			if len(x.values) != 2 || e.Len() != 0 {
				t.Errorf("resolution %v of %v: %v expired by the end of time, want 1 and 2", res, tick, x.values)
			}
		}
	}
}

func TestWithoutALockerThereIsNoValueToPointTo(t *testing.T) {
	r, _ := kit.NewManual(t, foliot.Options{})
	e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: r})
	h := pushExpiring(t, e, hour, 1)
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "Locker") {
			t.Errorf("ValueLocked without a Locker panics with %q, want advice about it", text)
		}
	}()
	e.ValueLocked(h)
}

func TestAnExpirerWithoutValuesIsIdle(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: r})
	if st := r.Stats(); st.Armed != 0 || st.Timers != 0 {
		t.Errorf("%d timers armed of %d, want none", st.Armed, st.Timers)
	}
	h := pushExpiring(t, e, 5*millisecond, 1)
	other := pushExpiring(t, e, 6*millisecond, 2)
	if st := r.Stats(); st.Armed != 1 {
		t.Errorf("%d timers armed with two values, want 1", st.Armed)
	}
	e.Remove(other)
	e.Remove(h)
	if st := r.Stats(); st.Armed != 0 || st.Timers != 0 {
		t.Errorf("%d timers armed of %d after Remove, want none", st.Armed, st.Timers)
	}
	pushExpiring(t, e, millisecond, 3)
	testkit.Eventually(t, "no values and no timer", func() bool {
		return e.Len() == 0 && r.Stats().Timers == 0
	})
	kit.WantNoGoroutines(t, "when all values have expired")
}

func TestAnIdleExpirerCanBeCollected(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	collected := make(chan bool, 1)
	func() {
		e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: r})
		runtime.AddCleanup(e, func(int) { collected <- true }, 0)
		h := pushExpiring(t, e, hour, 1)
		e.Remove(h)
	}()
	testkit.Eventually(t, "the Expirer is collected", func() bool {
		runtime.GC()
		return len(collected) == 1
	})
}

func TestValuesExpireThoughTheExpirerIsDropped(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	done := make(chan int, 1)
	func() {
		e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: r, Expired: func(v []int) { done <- v[0] }})
		pushExpiring(t, e, 20*millisecond, 1)
	}()
	runtime.GC()
	testkit.Receive(t, done, "the value expires")
}

func TestAClosedExpirerKeepsItsValues(t *testing.T) {
	eachClock(t, func(t *testing.T, r *foliot.Runtime, c testClock) {
		x := &expiry{}
		e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: r, Expired: x.add})
		h := pushExpiring(t, e, 10*millisecond, 1)
		pushExpiring(t, e, 10*millisecond, 2)
		e.Close()
		if n := e.Len(); n != 2 {
			t.Errorf("Len returns %d after Close, want 2", n)
		}
		c.pass(20 * millisecond)
		if _, err := e.Push(0, 3); !errors.Is(err, foliot.ErrClosed) {
			t.Errorf("Push after Close returns %v, want ErrClosed", err)
		}
		if e.Reset(h, 0) {
			t.Error("Reset after Close returns true")
		}
		var left []int
		for h, v := range e.All() {
			left = append(left, v)
			e.Remove(h)
		}
		e.Close()
		if slices.Sort(left); !slices.Equal(left, []int{1, 2}) || e.Len() != 0 {
			t.Errorf("All yields %v after Close, and %d are left, want 1 and 2, and none", left, e.Len())
		}
		x.want(t, c)
		if st := r.Stats(); st.Timers != 0 {
			t.Errorf("%d timers after Close, want none", st.Timers)
		}
	})
}

func TestAfterShutdownNoValueExpires(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	x := &expiry{}
	e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: r, Expired: x.add})
	h := pushExpiring(t, e, 200*millisecond, 1)
	if armed := kit.Shutdown(t, r); armed != 1 {
		t.Errorf("Shutdown returns %d, want 1", armed)
	}
	if _, err := e.Push(hour, 2); !errors.Is(err, foliot.ErrClosed) {
		t.Errorf("Push after Shutdown returns %v, want ErrClosed", err)
	}
	if e.Reset(h, 0) {
		t.Error("Reset after Shutdown returns true")
	}
	if v, ok := e.Remove(h); !ok || v != 1 || len(x.list()) != 0 {
		t.Errorf("Remove after Shutdown returns %d, %t, want 1, true; %v have expired", v, ok, x.list())
	}
}

func TestAFullRuntimeRefusesTheFirstValueOnly(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{MaxTimers: 1})
	e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: r})
	timer := kit.NewTimer(t, r, func() {})
	if _, err := e.Push(hour, 1); !errors.Is(err, foliot.ErrFull) || e.Len() != 0 {
		t.Errorf("Push returns %v, and there are %d values, want ErrFull and none", err, e.Len())
	}
	timer.Free()
	for v := range 10 {
		pushExpiring(t, e, hour, v)
	}
	if _, err := r.AfterFunc(hour, func() {}); !errors.Is(err, foliot.ErrFull) {
		t.Errorf("AfterFunc returns %v, want ErrFull", err)
	}
}

func TestAPanicDoesNotStopAnExpirer(t *testing.T) {
	for name, do := range map[string]func(){"panic": func() { panic("on purpose") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{OnPanic: func(any, []byte) {}})
			x := &expiry{}
			evicted := 0
			e := foliot.NewExpirer(foliot.ExpirerOptions[int]{
				Runtime: r,
				Evict: func(v int) {
					if evicted++; v == 1 {
						do()
					}
				},
				Expired: func(values []int) {
					x.add(values)
					if values[0] == 4 {
						do()
					}
				},
			})
			for v := range 4 {
				pushExpiring(t, e, millisecond, v)
			}
			pushExpiring(t, e, 10*millisecond, 4)
			pushExpiring(t, e, 20*millisecond, 5)
			x.want(t, testClock{pass: time.Sleep}, 0, 1, 2, 3, 4, 5)
			if evicted != 6 {
				t.Errorf("Evict was called %d times, want 6", evicted)
			}
		})
	}
}

func TestMemoryOfExpiredValuesIsGivenBack(t *testing.T) {
	testkit.SkipUnderRace(t, "it takes memory too")
	testkit.SkipIfShort(t)
	const n = 200_000
	for name, empty := range map[string]func(e *foliot.Expirer[[4]uint64], clock *foliot.ManualClock){
		"expiry": func(_ *foliot.Expirer[[4]uint64], clock *foliot.ManualClock) { clock.Advance(hour) },
		"Remove": func(e *foliot.Expirer[[4]uint64], clock *foliot.ManualClock) {
			for h := range e.All() {
				e.Remove(h)
			}
			clock.Advance(0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, clock := kit.NewManual(t, foliot.Options{})
			e := foliot.NewExpirer(foliot.ExpirerOptions[[4]uint64]{Runtime: r})
			before := testkit.HeapInUse()
			for i := range n {
				pushExpiring(t, e, time.Duration(i*7919%n)*10*millisecond, [4]uint64{})
			}
			full := testkit.HeapInUse() - before
			empty(e, clock)
			left := testkit.HeapInUse() - before
			if e.Len() != 0 || left > full/10 {
				t.Errorf("%d values left; %d bytes in use of %d, want a tenth at most", e.Len(), left, full)
			}
			runtime.KeepAlive(e)
		})
	}
}

func TestWarmOperationsOnAnExpirerDoNotAllocate(t *testing.T) {
	for name, locker := range map[string]sync.Locker{"own lock": nil, "other lock": new(sync.Mutex)} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{})
			e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: r, Locker: locker})
			lock, unlock := func() {}, func() {}
			if locker != nil {
				lock, unlock = locker.Lock, locker.Unlock
			}
			op := func() {
				lock()
				defer unlock()
				h := pushExpiring(t, e, hour, 1)
				if !e.Reset(h, 2*hour) || !e.Reset(h, hour/2) {
					t.Fatal("Reset returns false")
				}
				if _, _, ok := e.Lookup(h); !ok {
					t.Fatal("Lookup returns false")
				}
				if _, ok := e.Remove(h); !ok {
					t.Fatal("Remove returns false")
				}
			}
			wantNoAllocs(t, "without other values", op)
			for i := range 500 {
				lock()
				pushExpiring(t, e, hour+time.Duration(i)*second, i)
				unlock()
			}
			wantNoAllocs(t, "with other values", op)
		})
	}
	t.Run("expiry", func(t *testing.T) {
		r, clock := kit.NewManual(t, foliot.Options{})
		n := 0
		e := foliot.NewExpirer(foliot.ExpirerOptions[int]{
			Runtime: r, Evict: func(int) { n++ }, Expired: func(values []int) { n += len(values) },
		})
		advance := testkit.AllocsPerRun(t, 1000, func() {
			for range 4 { // as many as there are batches of 1000 values
				kit.After(t, r, millisecond, func() {})
			}
			clock.Advance(2 * millisecond)
		})
		with := testkit.AllocsPerRun(t, 1000, func() {
			for v := range 1000 {
				pushExpiring(t, e, millisecond, v)
			}
			clock.Advance(3 * millisecond)
		})
		if with > advance || n != 1001*2000 { // Advance allocates for each callback
			t.Errorf("%v allocations to let 1000 values expire, %v for Advance alone; %d calls", with, advance, n)
		}
	})
}
