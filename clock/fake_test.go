package clock_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/clock"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestAFakeStandsStillWhereItWasMade(t *testing.T) {
	if now, want := clock.NewFake().Now(), time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); now != want {
		t.Errorf("a Fake shows %v, want %v", now, want)
	}
	fake := clock.NewFake(kit.Epoch, time.Time{})
	runtime.Gosched()
	if fake.Now() != kit.Epoch {
		t.Errorf("the Fake shows %v, want %v", fake.Now(), kit.Epoch)
	}
	fake.Advance(time.Minute)
	fake.Advance(0)
	if d := fake.Since(kit.Epoch); d != time.Minute {
		t.Errorf("%v have passed, want a minute", d)
	}
}

func TestAFakeCannotGoBack(t *testing.T) {
	fake := clock.NewFake(kit.Epoch)
	text, _ := testkit.PanicValue(func() { fake.Advance(-time.Second) }).(string)
	if !strings.Contains(text, "Advance(-1s)") || fake.Now() != kit.Epoch {
		t.Errorf("Advance(-1s) panics with %q, and the Fake shows %v", text, fake.Now())
	}
}

// A standard context below one of a Fake compares both deadlines, as package context does with any
// parent. So its own deadline counts only if that of the Fake is later in real time.
func TestTheDeadlineOfAFakeIsReadByStandardContexts(t *testing.T) {
	child := func(fake *clock.Fake) (child, parent context.Context) {
		parent, cancel := fake.WithTimeout(t.Context(), time.Hour)
		t.Cleanup(cancel)
		child, cancel = context.WithTimeout(parent, time.Millisecond)
		t.Cleanup(cancel)
		return child, parent
	}
	below, parent := child(clock.NewFake(time.Now()))
	<-below.Done()
	if below.Err() != context.DeadlineExceeded || parent.Err() != nil {
		t.Errorf("from now on, the child ends with %v and the parent with %v", below.Err(), parent.Err())
	}
	below, parent = child(clock.NewFake())
	got, _ := below.Deadline()
	if want, _ := parent.Deadline(); !got.Equal(want) {
		t.Errorf("in the year 2000, the deadline of the child is %v, want that of the parent, %v", got, want)
	}
}

// A log has what happened, and when.
type log struct {
	fake  *clock.Fake
	mu    sync.Mutex
	lines []string
}

func (l *log) add(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, what+" "+l.fake.Since(kit.Epoch).String())
}

func (l *log) want(t testing.TB, lines ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.lines, lines) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(l.lines, "\n\t"), strings.Join(lines, "\n\t"))
	}
	l.lines = nil
}

func TestAdvanceFiresByDeadlineAndThenByArming(t *testing.T) {
	fake := clock.NewFake(kit.Epoch)
	l := &log{fake: fake}
	later := func(d time.Duration, what string) clock.Timer {
		return fake.AfterFunc(d, func() { l.add(what) })
	}
	later(3*time.Second, "a")
	later(time.Second, "b")
	moved := later(time.Hour, "c")
	later(3*time.Second, "d")
	stopped := later(2*time.Second, "e")
	moved.Reset(3 * time.Second) // armed after d
	stopped.Stop()
	later(5*time.Second, "f")
	fake.Advance(4 * time.Second)
	l.want(t, "b 1s", "a 3s", "d 3s", "c 3s")
	fake.Advance(time.Second)
	l.want(t, "f 5s")
}

func TestFunctionsUseTheClockDuringAdvance(t *testing.T) {
	fake := clock.NewFake(kit.Epoch)
	l := &log{fake: fake}
	var again, victim clock.Timer
	runs := 0
	again = fake.AfterFunc(time.Second, func() {
		l.add("again")
		if runs++; runs < 3 {
			again.Reset(time.Second)
		}
	})
	victim = fake.AfterFunc(4*time.Second, func() { l.add("victim") })
	fake.AfterFunc(2*time.Second, func() {
		l.add("arms")
		fake.AfterFunc(0, func() { l.add("at once") })
		fake.AfterFunc(time.Second, func() { l.add("in time") })
		fake.AfterFunc(time.Hour, func() { l.add("too late") })
		if !victim.Stop() {
			t.Error("Stop in a function returns false")
		}
		timer := fake.NewTimer(0)
		wantTime(t, "a timer of 0 in a function", timer.Chan(), fake.Now())
	})
	fake.Advance(10 * time.Second)
	l.want(t, "again 1s", "arms 2s", "again 2s", "at once 2s", "in time 3s", "again 3s")
	if fake.Since(kit.Epoch) != 10*time.Second {
		t.Errorf("the Fake shows %v after Advance", fake.Now())
	}
	if n := fake.Waiters(); n != 1 {
		t.Errorf("%d wait on the clock, want 1", n)
	}
}

// A goroutine that Advance wakes may run while Advance goes on. What it sees and arms must not depend
// on how fast it is.
func TestDuringAdvanceOtherGoroutinesSeeTheNewTime(t *testing.T) {
	fake := clock.NewFake(kit.Epoch)
	woken, next := fake.After(time.Second), make(chan clock.Timer)
	go func() {
		<-woken
		if d := fake.Since(kit.Epoch); d != 10*time.Second {
			t.Errorf("the goroutine sees %v, want 10s", d)
		}
		next <- fake.NewTimer(time.Second)
	}()
	var timer clock.Timer
	fake.AfterFunc(2*time.Second, func() {
		timer = <-next // Advance goes on when the goroutine has armed its timer
		if d := fake.Since(kit.Epoch); d != 2*time.Second {
			t.Errorf("the function sees %v, want 2s", d)
		}
		wantWaiters(t, "in the function", fake, 1)
	})
	fake.Advance(10 * time.Second)
	wantEmpty(t, "the timer of the goroutine", timer.Chan())
	fake.Advance(time.Second)
	wantTime(t, "the timer of the goroutine", timer.Chan(), kit.Epoch.Add(11*time.Second))
}

func TestAGoroutineThatSleepsInALoopIsWokenOncePerAdvance(t *testing.T) {
	fake := clock.NewFake()
	const rounds = 20
	var wakes atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range rounds {
				fake.Sleep(time.Second)
				wakes.Add(1)
			}
		})
	}
	fake.NewTicker(time.Millisecond) // makes Advance take its time
	for n := range int64(rounds) {
		fake.BlockUntil(5)
		if got := wakes.Load(); got != 4*n {
			t.Fatalf("%d wakes after %d calls of Advance, want %d", got, n, 4*n)
		}
		fake.Advance(3 * time.Second)
	}
	wg.Wait()
}

func TestTheFunctionsHaveReturnedWhenAdvanceReturns(t *testing.T) {
	fake := clock.NewFake()
	ran := 0 // not protected: Advance orders the accesses
	for range 100 {
		fake.AfterFunc(time.Second, func() {
			time.Sleep(10 * time.Microsecond)
			ran++
		})
	}
	fake.Advance(time.Second)
	if ran != 100 {
		t.Errorf("%d functions have returned, want 100", ran)
	}
}

func TestAFunctionThatEndsItsGoroutineDoesNotEndAdvance(t *testing.T) {
	fake := clock.NewFake()
	ran := false
	fake.AfterFunc(time.Second, runtime.Goexit)
	fake.AfterFunc(2*time.Second, func() { ran = true })
	fake.Advance(2 * time.Second)
	if !ran {
		t.Error("a function after one that calls Goexit has not run")
	}
}

func TestInAFunctionTheClockCannotBeWaitedFor(t *testing.T) {
	fake := clock.NewFake()
	fake.AfterFunc(time.Second, func() {
		for name, f := range map[string]func(){
			"Advance":       func() { fake.Advance(1) },
			"AdvanceToNext": func() { fake.AdvanceToNext() },
			"Sleep":         func() { fake.Sleep(1) },
		} {
			if testkit.PanicValue(f) == nil {
				t.Errorf("%s in a function does not panic", name)
			}
		}
		fake.Sleep(0)
	})
	fake.Advance(time.Second)
}

func TestWhatIsDueWhenItIsArmedFiresAtOnce(t *testing.T) {
	fake := clock.NewFake(kit.Epoch)
	for _, d := range []time.Duration{0, -time.Hour} {
		wantTime(t, "After", fake.After(d), kit.Epoch)
		timer := fake.NewTimer(time.Hour)
		if !timer.Reset(d) {
			t.Error("Reset of an armed timer returns false")
		}
		wantTime(t, "Reset", timer.Chan(), kit.Epoch)
		ran := make(chan struct{})
		fake.AfterFunc(d, func() { close(ran) })
		testkit.Receive(t, ran, "a function runs without Advance")
		called := false
		fake.AfterFunc(d, func() { called = true })
		fake.Advance(0)
		if !called {
			t.Error("Advance(0) has not waited for a function that was due")
		}
	}
	if n := fake.Waiters(); n != 0 {
		t.Errorf("%d wait on the clock, want none", n)
	}
}

func TestAnAdvanceOverSeveralPeriodsLeavesOneTick(t *testing.T) {
	fake := clock.NewFake(kit.Epoch)
	ticker := fake.NewTicker(time.Second)
	fake.Advance(3500 * time.Millisecond)
	wantTime(t, "the first tick", ticker.Chan(), kit.Epoch.Add(time.Second))
	wantEmpty(t, "the others", ticker.Chan())
	fake.Advance(500 * time.Millisecond)
	wantTime(t, "the next tick on the grid", ticker.Chan(), kit.Epoch.Add(4*time.Second))
	fake.Advance(time.Second)
	ticker.Reset(time.Minute)
	wantEmpty(t, "after Reset", ticker.Chan())
	fake.Advance(time.Minute)
	ticker.Stop()
	wantEmpty(t, "after Stop", ticker.Chan())
	ticker.Reset(time.Second)
	fake.Advance(time.Second)
	wantTime(t, "after Stop and Reset", ticker.Chan(), fake.Now())
}

func TestAdvanceToNextMovesToTheExactDeadline(t *testing.T) {
	fake := clock.NewFake(kit.Epoch)
	if d, ok := fake.AdvanceToNext(); d != 0 || ok {
		t.Errorf("AdvanceToNext without timers returns %v, %v", d, ok)
	}
	far := 3*365*24*time.Hour + 123456789
	fake.After(far)
	fake.After(far + 1)
	stopped := fake.NewTimer(time.Minute)
	ran := false
	fake.AfterFunc(time.Second, func() { ran = true })
	stopped.Stop()
	for _, want := range []time.Duration{time.Second, far - time.Second, 1} {
		if d, ok := fake.AdvanceToNext(); d != want || !ok {
			t.Errorf("AdvanceToNext returns %v, %v, want %v", d, ok, want)
		}
	}
	if _, ok := fake.AdvanceToNext(); ok || !ran || fake.Since(kit.Epoch) != far+1 {
		t.Errorf("ok is %v, the function has run: %v, %v have passed", ok, ran, fake.Since(kit.Epoch))
	}
}

func TestAdvanceToNextPassesWhatIsDueAlready(t *testing.T) {
	for range 100 { // the function may be about to run
		fake := clock.NewFake()
		ran := false
		fake.AfterFunc(0, func() {
			ran = true
			fake.AfterFunc(0, func() { fake.After(time.Minute) })
		})
		if d, ok := fake.AdvanceToNext(); d != time.Minute || !ok || !ran {
			t.Fatalf("AdvanceToNext returns %v, %v, and the function has run: %v", d, ok, ran)
		}
		fake.AfterFunc(0, func() {})
		if d, ok := fake.AdvanceToNext(); d != 0 || ok {
			t.Fatalf("AdvanceToNext returns %v, %v when nothing waits", d, ok)
		}
	}
}

// A goroutine arms functions that are due at once, also while AdvanceToNext looks for the next deadline.
func TestAdvanceToNextPassesWhatOthersArmForNow(t *testing.T) {
	fake := clock.NewFake()
	var ended atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !ended.Load() {
			ran := make(chan struct{})
			fake.AfterFunc(0, func() { close(ran) })
			<-ran
		}
	})
	for range 20_000 {
		fake.NewTimer(time.Second)
		if d, ok := fake.AdvanceToNext(); d != time.Second || !ok {
			t.Errorf("AdvanceToNext returns %v, %v, want 1s, true", d, ok)
			break
		}
	}
	ended.Store(true)
	wg.Wait()
}

// The wheel of the engine has many levels, and a bucket may have many entries.
func TestAdvanceToNextVisitsEachDeadline(t *testing.T) {
	fake := clock.NewFake(kit.Epoch)
	var want []time.Duration
	for i := range 500 {
		d := time.Duration(1) << (i % 60) * time.Duration(1+i%7)
		if d < 0 {
			continue
		}
		want = append(want, d)
		fake.NewTimer(d)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	for _, d := range want {
		if _, ok := fake.AdvanceToNext(); !ok || fake.Since(kit.Epoch) != d {
			t.Fatalf("AdvanceToNext has reached %v, want %v", fake.Since(kit.Epoch), d)
		}
	}
	if _, ok := fake.AdvanceToNext(); ok {
		t.Error("AdvanceToNext returns true after the last deadline")
	}
}

func TestConcurrentAdvancesAddUp(t *testing.T) {
	fake := clock.NewFake(kit.Epoch)
	running := 0 // not protected: functions run one after the other
	for i := range 1000 {
		fake.AfterFunc(time.Duration(i)*time.Second/4, func() {
			if running++; running != 1 {
				t.Error("two functions run at the same time")
			}
			running--
		})
	}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range 25 {
				fake.Advance(time.Second)
			}
		})
	}
	wg.Wait()
	if d := fake.Since(kit.Epoch); d != 250*time.Second || fake.Waiters() != 0 {
		t.Errorf("%v have passed, want 250s, and %d wait", d, fake.Waiters())
	}
}
