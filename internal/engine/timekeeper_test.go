package engine

import (
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

func TestDenseTimersShareWakeUpsInTheLongRun(t *testing.T) {
	clock := NewManualClock(time.Unix(0, 0))
	eng, err := New(Config{Manual: clock})
	if err != nil {
		t.Fatal(err)
	}
	k := &eng.timekeeper
	k.priced = true // as on the clock of the system
	// wakeups returns how many wake-ups there are in a span. Each fires one timer, and the next
	// timer is due 20 µs later.
	wakeups := func(span time.Duration) (n int) {
		for end := eng.Now() + int64(span); eng.Now() < end; n++ {
			k.spaceOut(1)
			pause := max(k.notBefore.Load()-eng.Now(), int64(20*time.Microsecond))
			clock.Advance(time.Duration(pause))
		}
		return n
	}
	if n := wakeups(time.Millisecond); n != 50 {
		t.Errorf("%d wake-ups at first, want 50: one for each timer", n)
	}
	wakeups(time.Second)
	if n := wakeups(time.Second); n < 990 || n > 1010 {
		t.Errorf("%d wake-ups in a second, want about 1000", n)
	}
	clock.Advance(10 * time.Second)
	if n := wakeups(time.Millisecond); n != 50 {
		t.Errorf("%d wake-ups after a pause, want 50: one for each timer", n)
	}
	clock.Advance(10 * time.Second)
	k.spaceOut(50)
	if pause := k.notBefore.Load() - eng.Now(); pause != 50*spacing {
		t.Errorf("after 50 timers at once, the next wake-up is delayed by %v, want %v",
			time.Duration(pause), time.Duration(50*spacing))
	}
}

func TestTheTimekeeperParksSoonAfterTheLastStop(t *testing.T) {
	eng, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	mode := func() mode {
		eng.timekeeper.mu.Lock()
		defer eng.timekeeper.mu.Unlock()
		return eng.timekeeper.mode
	}
	for round := range 3 {
		timer, err := eng.AfterFunc(time.Hour, func() {})
		if err != nil {
			t.Fatal(err)
		}
		if got := mode(); got != modeFar {
			t.Errorf("round %d: with a far timer the mode is %d, want %d", round, got, modeFar)
		}
		timer.Stop()
		if !testkit.TrueWithin(5*time.Second, func() bool { return mode() == modeParked }) {
			t.Fatalf("round %d: the timekeeper is not parked after 5 seconds", round)
		}
	}
	if _, err := eng.Shutdown(t.Context(), func() int { return 0 }); err != nil {
		t.Error(err)
	}
}

// Ending a context ends all contexts below it, which may take long. The driver that does it must not
// keep the engine's other timers waiting.
func TestTheEndOfAContextThatTakesLongDelaysNoTimer(t *testing.T) {
	for name, c := range map[string]Config{"std only": {stdOnly: true, Workers: 1}, "timerfd": {Workers: 1}} {
		t.Run(name, func(t *testing.T) {
			eng, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			release := make(chan struct{})
			defer close(release)
			if _, err := eng.NewDeadline(time.Now(), time.Millisecond, func() { <-release }); err != nil {
				t.Fatal(err)
			}
			fired := make(chan struct{})
			if _, err := eng.AfterFunc(20*time.Millisecond, func() { close(fired) }); err != nil {
				t.Fatal(err)
			}
			testkit.Receive(t, fired, "a timer beside the end of a context")
		})
	}
}

// Far timers are stopped while a near one is armed in another shard. When that one has fired, nothing
// is armed, and the engine must not wake any more.
func TestTheTimekeeperParksAfterFarTimersWereStoppedBesideANearOne(t *testing.T) {
	for name, c := range map[string]Config{
		"timerfd": {Workers: 2, perWorker: 4}, "std only": {Workers: 2, perWorker: 4, stdOnly: true}, "precise": {Workers: 2, Precise: true},
	} {
		t.Run(name, func(t *testing.T) {
			eng, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			arm := func(s *Shard, d time.Duration, f func()) Timer {
				now := eng.Now()
				s.mu.Lock()
				defer s.unlock()
				return Timer{s, s.add(kindFunc, stateOneShot, pointer(f), eng.Ceil(eng.Deadline(now, d)))}
			}
			shards := *eng.shards.Load()
			for round := range 5 {
				var far []Timer
				for _, s := range shards[1:] {
					far = append(far, arm(s, time.Hour, func() {}))
				}
				fired := make(chan struct{})
				near := 30 * time.Millisecond
				if round%2 == 1 {
					near = time.Duration(parkDelay / 2)
				}
				arm(shards[0], near, func() { time.Sleep(time.Duration(round) * 3 * time.Millisecond); close(fired) })
				for _, timer := range far {
					timer.Stop()
				}
				testkit.Receive(t, fired, "the near timer")
				if !testkit.TrueWithin(5*time.Second, func() bool {
					eng.timekeeper.mu.Lock()
					defer eng.timekeeper.mu.Unlock()
					return eng.timekeeper.mode == modeParked
				}) {
					t.Fatalf("round %d: nothing is armed, and the timekeeper is not parked", round)
				}
			}
		})
	}
}
