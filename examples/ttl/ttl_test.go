package ttl

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

// newManual returns a map on a manual clock.
func newManual[K comparable, V any](t testing.TB, o Options[K, V]) (*Map[K, V], *foliot.ManualClock) {
	t.Helper()
	clock := foliot.NewManualClock(time.Now())
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	o.Runtime = rt
	return New(o), clock
}

func TestAnEntryLivesForItsTime(t *testing.T) {
	evicted := map[string]int{}
	m, clock := newManual(t, Options[string, int]{Evicted: func(k string, v int) { evicted[k] = v }})
	for k, ttl := range map[string]time.Duration{"short": time.Second, "long": time.Hour, "gone": time.Hour} {
		if err := m.Set(k, len(k), ttl); err != nil {
			t.Fatal(err)
		}
	}
	if v, ok := m.Delete("gone"); !ok || v != 4 {
		t.Errorf("Delete returns %d, %t, want 4, true", v, ok)
	}
	if _, ok := m.Delete("gone"); ok {
		t.Error("a second Delete returns true")
	}
	clock.Advance(999 * time.Millisecond)
	if v, ok := m.Get("short"); !ok || v != 5 {
		t.Errorf("Get returns %d, %t before the deadline, want 5, true", v, ok)
	}
	clock.Advance(3 * time.Millisecond)
	if _, ok := m.Get("short"); ok || m.Len() != 1 || len(evicted) != 1 || evicted["short"] != 5 {
		t.Errorf("after the deadline Get returns %t, there are %d entries, evicted: %v", ok, m.Len(), evicted)
	}
	if v, ok := m.Get("long"); !ok || v != 4 {
		t.Errorf("Get returns %d, %t for another entry, want 4, true", v, ok)
	}
}

func TestSetReplacesValueAndDeadline(t *testing.T) {
	m, clock := newManual(t, Options[string, int]{})
	m.Set("a", 1, time.Minute)
	m.Set("a", 2, time.Hour)
	clock.Advance(2 * time.Minute)
	if v, ok := m.Get("a"); !ok || v != 2 || m.Len() != 1 {
		t.Errorf("Get returns %d, %t of %d entries, want 2, true of 1", v, ok, m.Len())
	}
	m.Set("a", 3, time.Second)
	clock.Advance(2 * time.Second)
	if _, ok := m.Get("a"); ok {
		t.Error("the entry has an earlier deadline and does not expire")
	}
}

func TestGetPushesTheDeadlineBackIfItSlides(t *testing.T) {
	m, clock := newManual(t, Options[string, int]{Sliding: time.Minute})
	m.Set("used", 1, time.Minute)
	m.Set("idle", 2, time.Minute)
	for range 5 {
		clock.Advance(40 * time.Second)
		if _, ok := m.Get("used"); !ok {
			t.Fatal("an entry that is used expires")
		}
	}
	if _, ok := m.Get("idle"); ok || m.Len() != 1 {
		t.Error("an entry that is not used does not expire")
	}
}

func TestGetDoesNotShortenALongerTimeToLive(t *testing.T) {
	m, clock := newManual(t, Options[string, int]{Sliding: time.Minute})
	m.Set("long", 1, time.Hour)
	m.Get("long")
	clock.Advance(time.Hour - 30*time.Second)
	if _, ok := m.Get("long"); !ok { // lives for another minute
		t.Fatal("the entry has expired before its time to live")
	}
	clock.Advance(45 * time.Second)
	if _, ok := m.Get("long"); !ok {
		t.Error("the entry was used less than a minute ago and has expired")
	}
	clock.Advance(2 * time.Minute)
	if _, ok := m.Get("long"); ok {
		t.Error("the entry does not expire")
	}
}

func TestAClosedMapKeepsItsEntries(t *testing.T) {
	m, clock := newManual(t, Options[int, int]{})
	for i := range 100 {
		m.Set(i, i, time.Minute)
	}
	if n := m.Close(); n != 100 {
		t.Errorf("Close returns %d, want 100", n)
	}
	for _, key := range []int{5, 1000} {
		if err := m.Set(key, 0, time.Hour); !errors.Is(err, foliot.ErrClosed) {
			t.Errorf("Set after Close returns %v, want ErrClosed", err)
		}
	}
	clock.Advance(time.Second)
	if v, ok := m.Get(5); !ok || v != 5 || m.Len() != 100 {
		t.Error("an entry is gone or has changed after Close")
	}
}

// The map is compared with a simple one after each of many random operations.
func TestTheMapBehavesLikeASimpleOne(t *testing.T) {
	type simple struct {
		value int
		until time.Time
	}
	m, clock := newManual(t, Options[int, int]{Shards: 2})
	want := map[int]simple{}
	const tick = 2 * time.Millisecond // more than the resolution of an Expirer
	for i := range 200_000 {
		key := rand.IntN(1 + i%3000)
		switch now := clock.Now(); rand.IntN(8) {
		case 0, 1, 2:
			ttl := time.Duration(1+rand.IntN(5000)) * tick
			m.Set(key, i, ttl)
			want[key] = simple{i, now.Add(ttl)}
		case 3:
			v, ok := m.Delete(key)
			if w, has := want[key]; has && now.Before(w.until) && (!ok || v != w.value) {
				t.Fatalf("Delete(%d) returns %d, %t, want %v", key, v, ok, w)
			}
			delete(want, key)
		case 4:
			if rand.IntN(50) == 0 {
				clock.Advance(time.Duration(rand.IntN(1000)) * tick)
			}
		default:
			v, ok := m.Get(key)
			switch w, has := want[key]; {
			case has && now.Before(w.until) && (!ok || v != w.value):
				t.Fatalf("Get(%d) returns %d, %t, want %v", key, v, ok, w)
			case ok && (!has || !now.Before(w.until.Add(tick))):
				t.Fatalf("Get(%d) returns a value, want none", key)
			}
		}
	}
	clock.Advance(time.Hour)
	for i := range m.shards {
		if s := &m.shards[i]; s.live != 0 || len(s.index) > 64 {
			t.Errorf("shard %d has %d entries and an index of %d, want none and a small one", i, s.live, len(s.index))
		}
	}
}

func TestTheMapIsSafeForConcurrentUse(t *testing.T) {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := New(Options[int, int]{Runtime: rt, Shards: 4, Sliding: time.Millisecond})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 30_000 {
				key := rand.IntN(5000)
				switch i % 4 {
				case 0:
					if err := m.Set(key, key, time.Duration(rand.IntN(3000))*time.Microsecond); err != nil {
						t.Error(err)
						return
					}
				case 1:
					m.Delete(key)
				default:
					if v, ok := m.Get(key); ok && v != key {
						t.Errorf("Get(%d) returns %d", key, v)
					}
				}
			}
		})
	}
	all.Wait()
	for end := time.Now().Add(20 * time.Second); m.Len() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d entries have not expired", m.Len())
		}
	}
}

func TestGetAndSetDoNotAllocate(t *testing.T) {
	m, _ := newManual(t, Options[uint64, uint64]{Sliding: time.Hour})
	for i := range uint64(10_000) {
		m.Set(i, i, time.Hour)
	}
	i := uint64(0)
	n := testing.AllocsPerRun(20_000, func() {
		i++
		m.Set(i%10_000, i, time.Hour)
		m.Get(i * 7 % 10_000)
	})
	if n != 0 {
		t.Errorf("%v allocations per Get and Set, want none", n)
	}
}

// A cache of answers, each of which is good for a minute.
func Example() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	answers := New(Options[string, int]{Runtime: rt}) // without Runtime: the clock of the system
	answers.Set("everything", 42, time.Minute)
	fmt.Println(answers.Get("everything"))
	clock.Advance(2 * time.Minute)
	fmt.Println(answers.Get("everything"))
	// Output:
	// 42 true
	// 0 false
}
