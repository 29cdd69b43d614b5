package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/foliot-go/foliot/internal/testkit"
)

// The tests in this file check what docs/scaling.md says about words that all processors share:
// which operations write them, and how often. They count, and do not measure time.
//
// A write is found in two ways. A test holds all locks of the engine while other goroutines use
// timers: an operation that takes one of these locks does not return. And it compares the contents
// of the engine and of its workers before and after.

// withManyProcessors runs a subtest with each of 16 and 64 processors.
func withManyProcessors(t *testing.T, f func(t *testing.T)) {
	for _, procs := range []int{16, 64} {
		t.Run(fmt.Sprintf("GOMAXPROCS %d", procs), func(t *testing.T) {
			prior := runtime.GOMAXPROCS(procs)
			t.Cleanup(func() { runtime.GOMAXPROCS(prior) })
			f(t)
		})
	}
}

// newSharedEngine makes an engine and shuts it down at the end of the test.
func newSharedEngine(t *testing.T, c Config) *Engine {
	t.Helper()
	eng, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		testkit.Returns(t, "Shutdown", func() {
			if _, err := eng.Shutdown(context.Background(), func() int { return 0 }); err != nil {
				t.Error(err)
			}
		})
	})
	return eng
}

// armInEachShard arms n timers in each shard.
func armInEachShard(t *testing.T, eng *Engine, n int, d time.Duration, f func()) {
	t.Helper()
	open := eng.openShards.Load()
	defer eng.openShards.Store(open)
	for _, s := range *open {
		eng.openShards.Store(&[]*Shard{s})
		for range n {
			if _, err := eng.AfterFunc(d, f); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// withoutDriver makes the engine believe that a driver runs callbacks, so that it starts none.
func withoutDriver(eng *Engine) {
	eng.timekeeper.wakeAt.Store(0)
}

// holdLocks locks all locks of the engine and of its workers, but not those of shards. It returns a
// function that unlocks them.
func holdLocks(eng *Engine) (release func()) {
	var held []sync.Locker
	lock := func(l sync.Locker) {
		l.Lock()
		held = append(held, l)
	}
	lock(&eng.roster.mu)
	lock(&eng.batchMu)
	lock(&eng.timekeeper.mu)
	for _, w := range *eng.workers.Load() {
		lock(&w.goCalls.mu)
	}
	lock(&eng.goroutines.mu)
	return sync.OnceFunc(func() {
		for _, l := range slices.Backward(held) {
			l.Unlock()
		}
	})
}

// A wordMap has the contents of fields of the engine and its workers, by the path of the field.
type wordMap map[string]string

// sharedWords returns the fields of the engine and of its workers. The caller holds the locks.
func sharedWords(eng *Engine) wordMap {
	m := wordMap{}
	m.add("", reflect.TypeFor[Engine](), unsafe.Pointer(eng), 0)
	for i, w := range *eng.workers.Load() {
		m.add(fmt.Sprintf("worker %d.", i), reflect.TypeFor[worker](), unsafe.Pointer(w), 0)
	}
	return m
}

// unlockedWords are fields that a timer of the standard library or the garbage collector may write
// without a lock.
var unlockedWords = []string{"sleepers"}

// add adds the fields of a struct of the type typ, at the offset from the pointer p.
func (m wordMap) add(prefix string, typ reflect.Type, p unsafe.Pointer, offset uintptr) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		name := prefix + f.Name
		at := offset + f.Offset
		switch {
		case f.Name == "_" || slices.Contains(unlockedWords, name):
		case f.Type.Kind() == reflect.Struct && !strings.HasPrefix(f.Type.PkgPath(), "sync"):
			m.add(name+".", f.Type, p, at)
		default:
			for a := at &^ 3; a < at+f.Type.Size(); a += 4 {
				m[name] += fmt.Sprintf(" %08x", atomic.LoadUint32((*uint32)(unsafe.Add(p, a))))
			}
		}
	}
}

// changed returns the names of the fields that differ.
func (m wordMap) changed(now wordMap) (names []string) {
	for name, was := range m {
		if now[name] != was {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// numGoroutines is how many goroutines use an engine in these tests.
const numGoroutines = 64

// onManyGoroutines calls f n times on each of numGoroutines goroutines, with the number of the
// goroutine and that of the call.
func onManyGoroutines(t *testing.T, what string, n int, f func(g, i int) error) {
	t.Helper()
	testkit.Returns(t, what, func() {
		var all sync.WaitGroup
		for g := range numGoroutines {
			all.Go(func() {
				for i := range n {
					if err := f(g, i); err != nil {
						t.Errorf("%s: %v", what, err)
						return
					}
				}
			})
		}
		all.Wait()
	})
}

// armedTimers returns the number of armed timers in all shards.
func armedTimers(eng *Engine) (n int) {
	for _, s := range *eng.shards.Load() {
		n += s.pending()
	}
	return n
}

// errorUnless returns an error if a call of Reset, Stop or Free has returned false.
func errorUnless(ok bool) error {
	if !ok {
		return errors.New("the result is false")
	}
	return nil
}

// useTimers arms, resets, stops and frees timers on many goroutines. Each shard must have a timer
// that is due before these, so that none of them is the earliest. It calls check after each step
// with the number of timers that there are.
func useTimers(t *testing.T, eng *Engine, check func(step string, timers int)) {
	t.Helper()
	const perGoroutine = 100
	var timers [numGoroutines][perGoroutine]Timer
	for _, step := range []struct {
		name   string
		timers int // how many each goroutine has afterwards
		do     func(g, i int) error
	}{
		{"AfterFunc", perGoroutine, func(g, i int) (err error) {
			timers[g][i], err = eng.AfterFunc(2*time.Hour, func() {})
			return err
		}},
		{"Reset to a later time", perGoroutine, func(g, i int) error { return errorUnless(timers[g][i].Reset(3 * time.Hour)) }},
		{"Reset to an earlier time", perGoroutine, func(g, i int) error { return errorUnless(timers[g][i].Reset(time.Hour)) }},
		{"Stop", 0, func(g, i int) error { return errorUnless(timers[g][i].Stop()) }},
		{"NewTimer", perGoroutine, func(g, i int) (err error) {
			timers[g][i], err = eng.NewTimer(func() {})
			return err
		}},
		{"Reset", perGoroutine, func(g, i int) error { return errorUnless(timers[g][i].Reset(time.Hour)) }},
		{"Stop on another goroutine", perGoroutine, func(g, i int) error { return errorUnless(timers[numGoroutines-1-g][i].Stop()) }},
		{"Free", 0, func(g, i int) error { return errorUnless(timers[g][i].Free()) }},
	} {
		onManyGoroutines(t, step.name, perGoroutine, step.do)
		check(step.name, step.timers*numGoroutines)
	}
}

func TestNoOperationOfATimerWritesAWordOfTheEngine(t *testing.T) {
	withManyProcessors(t, func(t *testing.T) {
		eng := newSharedEngine(t, Config{StaleLimit: math.MaxInt32})
		armInEachShard(t, eng, 1, time.Minute, func() {})
		release := holdLocks(eng)
		defer release()
		before := sharedWords(eng)
		useTimers(t, eng, func(step string, _ int) {
			if names := before.changed(sharedWords(eng)); names != nil {
				t.Errorf("%s has written %v", step, names)
			}
		})
	})
}

// It also shows that the method of the test above finds writes.
func TestWithMaxTimersEachTimerWritesOneWordOfTheEngine(t *testing.T) {
	withManyProcessors(t, func(t *testing.T) {
		eng := newSharedEngine(t, Config{StaleLimit: math.MaxInt32, MaxTimers: math.MaxInt32})
		armInEachShard(t, eng, 1, time.Minute, func() {})
		shards := len(*eng.shards.Load())
		release := holdLocks(eng)
		defer release()
		before := sharedWords(eng)
		useTimers(t, eng, func(step string, timers int) {
			want := []string{"quota.used"}
			if timers == 0 {
				want = nil
			}
			if names := before.changed(sharedWords(eng)); !slices.Equal(names, want) {
				t.Errorf("%s has written %v, want %v", step, names, want)
			}
			if used := eng.quota.used.Load(); used != int64(shards+timers) {
				t.Errorf("%s: %d timers are counted, want %d", step, used, shards+timers)
			}
		})
	})
}

// The first Stop that leaves a shard empty asks the timekeeper to park. After that a Stop only reads
// that it was asked.
func TestAStopThatLeavesItsShardEmptyWritesNoWordOfTheEngineOnceTheTimekeeperIsAskedToPark(t *testing.T) {
	withManyProcessors(t, func(t *testing.T) {
		eng := newSharedEngine(t, Config{StaleLimit: math.MaxInt32})
		withoutDriver(eng)
		eng.timekeeper.parking.Store(true) // without its timer, which would change it again
		armAndStop := func(int, int) error {
			timer, err := eng.AfterFunc(time.Hour, func() {})
			if err != nil {
				return err
			}
			return errorUnless(timer.Stop())
		}
		release := holdLocks(eng)
		before := sharedWords(eng)
		onManyGoroutines(t, "AfterFunc and Stop", 100, armAndStop)
		names := before.changed(sharedWords(eng))
		release()
		if names != nil {
			t.Errorf("AfterFunc and Stop have written %v", names)
		}
	})
}

// The first deadline of a shard, and each that is earlier, is stored in Shard.next. A word of the
// engine is written only if the deadline is before the next wake-up of the timekeeper.
func TestAnEarlierDeadlineIsWrittenToTheEngineOnlyIfItIsBeforeTheWakeUp(t *testing.T) {
	withManyProcessors(t, func(t *testing.T) {
		eng := newSharedEngine(t, Config{})
		if _, err := eng.AfterFunc(time.Minute, func() {}); err != nil {
			t.Fatal(err)
		}
		release := holdLocks(eng)
		defer release()
		before := sharedWords(eng)
		const n = 100
		onManyGoroutines(t, "AfterFunc", n, func(g, i int) error {
			_, err := eng.AfterFunc(2*time.Hour-time.Duration(i)*time.Second, func() {})
			return err
		})
		if names := before.changed(sharedWords(eng)); names != nil {
			t.Errorf("deadlines after the wake-up were written to %v", names)
		}
		if armed := armedTimers(eng); armed != 1+n*numGoroutines {
			t.Errorf("%d timers are armed, want %d", armed, 1+n*numGoroutines)
		}
		for _, s := range *eng.shards.Load() {
			if next := s.next.Load(); (next != never) != (s.pending() > 0) {
				t.Errorf("shard %d has %d timers, and its next deadline is at %v", s.number, s.pending(), time.Duration(next))
			}
		}

		wakeAt := eng.timekeeper.wakeAt.Load()
		early := testkit.Async(func() error {
			_, err := eng.AfterFunc(30*time.Second, func() {})
			return err
		})
		testkit.Eventually(t, "a deadline before the wake-up waits for timekeeper.mu", func() bool {
			return slices.ContainsFunc(testkit.GoroutineStacks(), func(stack string) bool {
				return strings.Contains(stack, "[sync.Mutex.Lock") && strings.Contains(stack, "(*timekeeper).notify")
			})
		})
		release()
		if err := testkit.Receive(t, early, "AfterFunc"); err != nil {
			t.Error(err)
		}
		if now := eng.timekeeper.wakeAt.Load(); now >= wakeAt {
			t.Errorf("the wake-up is at %v, was at %v", time.Duration(now), time.Duration(wakeAt))
		}
	})
}

// Of deadlines in random order, few are before all others.
func TestTheWakeUpIsWrittenOnceForEachDeadlineThatIsBeforeAllOthers(t *testing.T) {
	eng := newSharedEngine(t, Config{Workers: 64})
	armInEachShard(t, eng, 1, 3*time.Hour, func() {}) // so that no shard becomes empty
	first := eng.timekeeper.wakeAt.Load()
	writes, want := 0, 0
	const n = 10000
	for i := range n {
		was := eng.timekeeper.wakeAt.Load()
		timer, err := eng.AfterFunc(time.Hour+time.Duration(uint32(i)*2654435761), func() {})
		if err != nil {
			t.Fatal(err)
		}
		at, ok := timer.s.deadline(timer.h)
		if !timer.Stop() || !ok {
			t.Fatal("the timer is not armed")
		}
		if due := eng.Nanos(at); due < first {
			first = due
			want++
		}
		if eng.timekeeper.wakeAt.Load() != was {
			writes++
		}
	}
	if writes != want || want == 0 || want > n/100 {
		t.Errorf("wakeAt was written %d times, want %d", writes, want)
	}
}

func TestAClaimIsForATurnAndNotForACallback(t *testing.T) {
	withManyProcessors(t, func(t *testing.T) {
		const perShard = 20
		eng := newSharedEngine(t, Config{})
		withoutDriver(eng)
		var ran atomic.Int64
		armInEachShard(t, eng, perShard, 0, func() { ran.Add(1) })
		time.Sleep(time.Millisecond) // until the tick of the last timer has come
		before := eng.claims.Load()
		eng.timekeeper.runDue(&driver{epoch: 1})
		callbacks := int64(perShard * len(*eng.shards.Load()))
		testkit.Eventually(t, "all callbacks have run", func() bool { return ran.Load() == callbacks })
		workers := uint64(len(*eng.workers.Load()))
		// On a busy machine the watchdog takes workers for blocked. It counts these claims after it
		// has made them.
		claims := func() uint64 { return (eng.claims.Load()-before)/2 - eng.blocked.Load() }
		if !testkit.TrueWithin(time.Second, func() bool { return claims() <= 2*workers }) || claims() < workers {
			t.Errorf("%d callbacks of %d workers took %d claims, want one or two for each worker", callbacks, workers, claims())
		}
	})
}

// Spawn and Wake do these calls, and change the task.
func TestAWakeOfABusyWorkerWritesNoWordOfTheEngine(t *testing.T) {
	withManyProcessors(t, func(t *testing.T) {
		eng := newSharedEngine(t, Config{})
		var claims []uint64
		for _, w := range *eng.workers.Load() {
			claims = append(claims, w.claim(eng.Now(), 0))
		}
		release := holdLocks(eng)
		defer release()
		before := sharedWords(eng)
		onManyGoroutines(t, "wakeOwner", 100, func(int, int) error {
			s := eng.lockShard()
			closed := s.closed || !s.mayWake()
			s.mu.Unlock()
			s.wakeOwner()
			if closed {
				return ErrClosed
			}
			return nil
		})
		if names := before.changed(sharedWords(eng)); names != nil {
			t.Errorf("wakes have written %v", names)
		}
		release()
		for i, w := range *eng.workers.Load() {
			if !w.release(claims[i]) {
				t.Errorf("worker %d has another claim", i)
			}
		}

		s := (*eng.openShards.Load())[0]
		was := eng.claims.Load()
		s.wakeOwner() // the worker is not busy
		if eng.claims.Load() == was {
			t.Error("the wake of a worker that is not busy took no claim")
		}
		testkit.Eventually(t, "the worker is released", func() bool { return s.owner.Load().busy.Load() == 0 })
	})
}
