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

// A loop that sleeps until the next deadline. A tick is a millisecond since start.
func Example_clock() {
	start := time.Now()
	after := func(d time.Duration) wheel.Tick { // rounded up, so that nothing is early
		return wheel.Tick((time.Since(start) + d + time.Millisecond - 1) / time.Millisecond)
	}
	var w wheel.Wheel[string]
	w.Schedule(after(20*time.Millisecond), "second")
	w.Schedule(after(5*time.Millisecond), "first")

	for next, ok := w.Next(); ok; next, ok = w.Next() {
		time.Sleep(time.Until(start.Add(time.Duration(next) * time.Millisecond)))
		for _, what := range w.Advance(wheel.Tick(time.Since(start) / time.Millisecond)) {
			fmt.Println(what)
		}
	}
	// Output:
	// first
	// second
}

// A cache removes expired keys while it holds its lock. It removes at most 64 keys in one pass, so
// that no other goroutine waits long for the lock.
func Example_cache() {
	type entry struct {
		value   string
		expires wheel.Handle
	}
	type cache struct {
		mu      sync.Mutex
		entries map[string]entry
		expiry  wheel.Wheel[string] // keys; a tick is a millisecond since the start
	}

	c := cache{entries: map[string]entry{}}
	ticks := func(d time.Duration) wheel.Tick {
		// Rounded up, so that nothing is early.
		return wheel.Tick((d + time.Millisecond - 1) / time.Millisecond)
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

// A simulation jumps from event to event. Time without events costs nothing.
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

// A server closes connections that were idle for a minute. A read only stores the time, which is
// cheaper than Reschedule. When the old deadline is due, the connection is scheduled again if it
// was read since.
func Example_idleConnections() {
	type conn struct {
		name     string
		lastRead wheel.Tick
	}
	const timeout = 60_000 // ms
	var idle wheel.Wheel[*conn]
	now := wheel.Tick(0)

	expire := func() (closed []string) {
		for at, c := range idle.Advance(now) {
			if deadline := c.lastRead + timeout; deadline > at {
				idle.Schedule(deadline, c)
				continue
			}
			closed = append(closed, c.name)
		}
		return closed
	}

	busy, quiet := &conn{name: "busy"}, &conn{name: "quiet"}
	idle.Schedule(timeout, busy)
	idle.Schedule(timeout, quiet)
	busy.lastRead = 59_000
	now = 60_000
	fmt.Println(expire())
	now = 119_000
	fmt.Println(expire())
	// Output:
	// [quiet]
	// [busy]
}

// A client gives each request 500 ms. A reply cancels the deadline.
func Example_requestDeadlines() {
	var now wheel.Tick
	var deadlines wheel.Wheel[uint64]     // request ids
	inFlight := map[uint64]wheel.Handle{} // by request id

	send := func(id uint64) { inFlight[id] = deadlines.Schedule(now+500, id) }
	reply := func(id uint64) bool {
		_, inTime := deadlines.Cancel(inFlight[id]) // true: the request will not time out
		delete(inFlight, id)
		return inTime
	}

	send(1)
	send(2)
	fmt.Println(reply(1), reply(1))
	for _, id := range deadlines.Advance(500) {
		fmt.Println("timed out:", id)
	}
	// Output:
	// true false
	// timed out: 2
}

// A game moves many creatures, each at its own pace, without a goroutine for each.
func Example_game() {
	const tickRate = 20                // per second
	var world wheel.Wheel[func() uint] // a creature's turn; returns the ticks until its next
	world.Schedule(1, func() uint { fmt.Println("the snail moves"); return 5 * tickRate })
	world.Schedule(1, func() uint { fmt.Println("the bird moves"); return 2 * tickRate })

	for now := wheel.Tick(0); now <= 60; now++ {
		for at, turn := range world.Advance(now) {
			world.Schedule(at+wheel.Tick(turn()), turn)
		}
	}
	// Output:
	// the snail moves
	// the bird moves
	// the bird moves
}

// A script host provides setTimeout and clearTimeout.
func Example_setTimeout() {
	var clock wheel.Tick
	var timers wheel.Wheel[func()]
	setTimeout := func(f func(), ms int) wheel.Handle { return timers.Schedule(clock+wheel.Tick(max(ms, 1)), f) }
	clearTimeout := func(h wheel.Handle) { timers.Cancel(h) }

	setTimeout(func() { fmt.Println("second, as it was set later") }, 10)
	never := setTimeout(func() { fmt.Println("never") }, 10)
	setTimeout(func() { fmt.Println("first"); clearTimeout(never) }, 5)

	for next, ok := timers.Next(); ok; next, ok = timers.Next() {
		clock = next // a real host sleeps until then
		for _, f := range timers.Advance(clock) {
			f()
		}
	}
	// Output:
	// first
	// second, as it was set later
}

// A test of code that runs on a wheel need not wait.
func Example_test() {
	var w wheel.Wheel[string]
	w.Schedule(365*24*3600, "the certificate expires")

	for range w.Advance(364 * 24 * 3600) { // takes no time
		panic("too early")
	}
	for _, what := range w.Advance(365 * 24 * 3600) {
		fmt.Println(what)
	}
	// Output:
	// the certificate expires
}

// Next returns how long a goroutine may sleep. For a far entry it is only a lower bound, so that
// several steps are needed to reach it.
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

// A break keeps a pass short. The next pass yields the rest.
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

// Park stops a timer that will be started again. Its handle stays valid.
func ExampleWheel_Park() {
	var w wheel.Wheel[string]
	h := w.Schedule(100, "idle timeout")

	fmt.Println(w.Park(h), w.Park(h)) // a request has come in
	for range w.Advance(500) {
		panic("a parked entry is not due at any tick")
	}
	w.Reschedule(h, w.Now()+100) // the reply has been sent
	at, what, _ := w.Lookup(h)
	fmt.Println(what, "at", at)
	// Output:
	// true false
	// idle timeout at 600
}

// Drain moves all entries to another wheel.
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

// Trim releases the memory of a wheel that has become much smaller.
func ExampleWheel_Trim() {
	var w wheel.Wheel[int]
	var handles []wheel.Handle
	for i := range 100_000 {
		handles = append(handles, w.Schedule(wheel.Tick(1000+i), i))
	}
	for _, h := range handles[100:] {
		w.Cancel(h)
	}
	// A few slabs at a time, for example whenever the program is idle.
	released := 0
	for range 100 {
		released += w.Trim(8)
	}
	fmt.Println("more than 90 slabs released:", released > 90)
	// Output:
	// more than 90 slabs released: true
}

// An entry has a tick and a value until it is yielded or cancelled.
func ExampleWheel_Lookup() {
	var w wheel.Wheel[string]
	h := w.Schedule(100, "retransmit")
	fmt.Println(w.Lookup(h))
	w.Reschedule(h, 150)
	fmt.Println(w.Lookup(h))
	fmt.Println(w.Cancel(h))
	_, _, ok := w.Lookup(h)
	fmt.Println(ok, w.Len())
	// Output:
	// 100 retransmit true
	// 150 retransmit true
	// retransmit true
	// false 0
}

// Value changes a value in place.
func ExampleWheel_Value() {
	var w wheel.Wheel[int]
	w.Schedule(100, 1)
	h := w.Schedule(200, 2)
	*w.Value(h) += 40
	sum := 0
	for _, v := range w.All() {
		sum += v
	}
	fmt.Println(sum)
	// Output: 43
}

// An entry that is reserved has a handle, and is due only after Reschedule.
func ExampleWheel_Reserve() {
	var w wheel.Wheel[string]
	h := w.Reserve("idle timeout")
	_, armed := w.Next()
	fmt.Println(w.Len(), armed)
	w.Reschedule(h, 10)
	for at, what := range w.Advance(10) {
		fmt.Println(at, what)
	}
	// Output:
	// 1 false
	// 10 idle timeout
}

// A clock was set back, and an entry is armed that is overdue by the new time. Rewind gives it its
// place before the others.
func ExampleWheel_Rewind() {
	var w wheel.Wheel[string]
	w.Schedule(20, "later")
	for range w.Advance(15) {
		panic("nothing is due")
	}
	w.Rewind(5)
	w.Schedule(10, "sooner")
	for at, what := range w.Advance(20) {
		fmt.Println(at, what)
	}
	// Output:
	// 10 sooner
	// 20 later
}

// Horizon says when the entries are due. What is overdue is the first span.
func ExampleWheel_Horizon() {
	var w wheel.Wheel[string]
	for _, at := range []wheel.Tick{3, 9, 70, 100, 5000} {
		w.Schedule(at, "an entry")
	}
	for _, s := range w.Horizon(10) {
		fmt.Printf("%d to %d: %d\n", s.First, s.Last, s.Count)
	}
	// Output:
	// 3 to 10: 2
	// 11 to 63: 0
	// 64 to 127: 2
	// 128 to 4095: 0
	// 4096 to 8191: 1
}
