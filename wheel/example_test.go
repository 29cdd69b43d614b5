package wheel_test

import (
	"fmt"
	"sync"
	"time"

	"github.com/foliot-go/foliot/wheel"
)

func Example() {
	var w wheel.Wheel[string]
	h := w.Schedule(100, "retransmit")
	w.Schedule(100, "keep-alive")
	w.Schedule(40, "ack")
	w.Reschedule(h, 110)

	for at, what := range w.Advance(105) {
		fmt.Println(at, what)
	}
	_, pending := w.Cancel(h)
	fmt.Println("retransmit was pending:", pending)
	// Output:
	// 40 ack
	// 100 keep-alive
	// retransmit was pending: true
}

// A cache evicts what has expired inside its own lock. It takes 64 entries a pass, so
// that nobody waits long for the lock.
func Example_cache() {
	type entry struct {
		value   string
		expires wheel.Handle
	}
	type cache struct {
		mu      sync.Mutex
		entries map[string]entry
		expiry  wheel.Wheel[string] // keys, by millisecond since start
	}

	c := cache{entries: map[string]entry{}}
	ticks := func(d time.Duration) wheel.Tick {
		return wheel.Tick((d + time.Millisecond - 1) / time.Millisecond) // up: never early
	}
	put := func(now time.Duration, key, value string, ttl time.Duration) {
		c.mu.Lock()
		defer c.mu.Unlock()
		at := ticks(now + ttl)
		if old, ok := c.entries[key]; ok {
			c.expiry.Reschedule(old.expires, at)
			c.entries[key] = entry{value, old.expires}
			return
		}
		c.entries[key] = entry{value, c.expiry.Schedule(at, key)}
	}
	evict := func(now time.Duration) (evicted int, more bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, key := range c.expiry.Advance(wheel.Tick(now / time.Millisecond)) {
			delete(c.entries, key)
			if evicted++; evicted == 64 {
				break
			}
		}
		next, ok := c.expiry.Next()
		return evicted, ok && next <= c.expiry.Now()
	}

	for i := range 100 {
		put(0, fmt.Sprint("key ", i), "value", time.Minute)
	}
	put(30*time.Second, "key 7", "a later value", time.Minute)

	for more := true; more; {
		var n int
		n, more = evict(time.Minute)
		fmt.Println("evicted", n)
	}
	fmt.Println("left", len(c.entries))
	// Output:
	// evicted 64
	// evicted 35
	// left 1
}

// A simulation jumps from event to event: time costs nothing while nothing happens.
func Example_simulation() {
	const (
		second = 1
		minute = 60 * second
		day    = 24 * 60 * minute
	)
	var w wheel.Wheel[string]
	w.Schedule(2*second, "arrival")
	w.Schedule(30*day, "audit")

	for next, ok := w.Next(); ok; next, ok = w.Next() {
		for now, event := range w.Advance(next) {
			fmt.Println(now, event)
			if event == "arrival" && now < 5*minute {
				w.Schedule(now+2*minute, "arrival")
			}
		}
	}
	// Output:
	// 2 arrival
	// 122 arrival
	// 242 arrival
	// 362 arrival
	// 2592000 audit
}

// Next tells a goroutine how long it may sleep.
func ExampleWheel_Next() {
	var w wheel.Wheel[string]
	w.Schedule(50, "soon")
	far := w.Schedule(100_000, "far")

	next, _ := w.Next()
	fmt.Println("sleep until", next)
	for range w.Advance(next) {
	}
	steps := 0
	for next, ok := w.Next(); ok; next, ok = w.Next() {
		for at, what := range w.Advance(next) {
			fmt.Println(what, "at", at)
		}
		steps++
	}
	fmt.Println("in no more than 11 steps:", steps <= 11)
	_, pending := w.Cancel(far)
	fmt.Println("still pending:", pending)
	// Output:
	// sleep until 50
	// far at 100000
	// in no more than 11 steps: true
	// still pending: false
}

// Breaking off keeps a pass short; the rest comes with the next one.
func ExampleWheel_Advance() {
	var w wheel.Wheel[int]
	for i := range 5 {
		w.Schedule(10, i)
	}
	for w.Len() > 0 {
		var batch []int
		for _, v := range w.Advance(10) {
			batch = append(batch, v)
			if len(batch) == 2 {
				break
			}
		}
		fmt.Println(batch)
	}
	// Output:
	// [0 1]
	// [2 3]
	// [4]
}

// A timer that can be stopped and started again keeps its entry. Pop hands it out parked,
// so that the lock beside the wheel can be let go while its callback runs.
func ExampleWheel_Pop() {
	type timer struct {
		name   string
		period wheel.Tick // 0: once
	}
	var w wheel.Wheel[timer]
	w.Schedule(10, timer{"tick", 10})
	w.Schedule(15, timer{"once", 0})

	for h, at, ok := w.Pop(35); ok; h, at, ok = w.Pop(35) {
		t := w.Value(h)
		fmt.Println(at, t.name)
		if t.period > 0 {
			w.Reschedule(h, at+t.period) // due again by 35? Then Pop hands it out again
		}
	}
	next, _ := w.Next()
	fmt.Println("entries:", w.Len(), "next:", next)
	// Output:
	// 10 tick
	// 15 once
	// 35 tick
	// entries: 2 next: 45
}

// Park stops what will be started again; its handle stays good.
func ExampleWheel_Park() {
	var w wheel.Wheel[string]
	h := w.Schedule(100, "idle timeout")

	fmt.Println(w.Park(h), w.Park(h)) // a request is under way
	for range w.Advance(500) {
		panic("a parked entry is not due at any tick")
	}
	w.Reschedule(h, w.Now()+100) // it has been answered
	at, what, _ := w.Lookup(h)
	fmt.Println(what, "at", at)
	// Output:
	// true false
	// idle timeout at 600
}

// Drain moves everything to another owner.
func ExampleWheel_Drain() {
	var from, to wheel.Wheel[string]
	from.Schedule(7, "first")
	from.Schedule(7, "second")
	for at, v := range from.Drain() {
		to.Schedule(at, v)
	}
	for at, v := range to.Advance(7) {
		fmt.Println(at, v)
	}
	fmt.Println("left behind:", from.Len())
	// Output:
	// 7 first
	// 7 second
	// left behind: 0
}

// Trim is for a wheel that was large once.
func ExampleWheel_Trim() {
	var w wheel.Wheel[int]
	var handles []wheel.Handle
	for i := range 100_000 {
		handles = append(handles, w.Schedule(wheel.Tick(1000+i), i))
	}
	for _, h := range handles[100:] {
		w.Cancel(h)
	}
	// A few slabs at a time, say whenever the owner has nothing better to do.
	freed := 0
	for range 100 {
		freed += w.Trim(8)
	}
	fmt.Println("slabs given back:", freed > 90)
	// Output:
	// slabs given back: true
}
