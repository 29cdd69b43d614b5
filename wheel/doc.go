// Package wheel is a hierarchical timing wheel: a data structure that holds any
// number of deadlines and yields those that have come due, in order.
//
// It is for programs that keep many deadlines of their own behind a lock or on a
// goroutine of their own: caches, protocol stacks, session tables, simulations. It
// starts no goroutine and reads no clock. Time is a number, the [Tick], in units of
// the caller's choice, and it passes when the caller says so:
//
//	var w wheel.Wheel[string]
//
//	h := w.Schedule(100, "retransmit")      // at tick 100
//	w.Schedule(100, "keep-alive")           // at the same tick, behind it
//	w.Reschedule(h, 250)                    // the handle stays good
//	w.Cancel(h)                             // true: it will not be yielded
//
//	for at, what := range w.Advance(120) {  // all that is due at tick 120
//		fmt.Println(at, what)               // 100 keep-alive
//	}
//
// # What it promises
//
// Exact: an entry is yielded by the first [Wheel.Advance] to its tick or beyond, never
// before, at any distance and after any uptime; the whole range of uint64 works.
//
// Ordered: by tick, and entries of one tick in the order in which they were armed.
//
// Constant: [Wheel.Schedule], [Wheel.Reschedule], [Wheel.Park], [Wheel.Cancel] and
// [Wheel.Next] are the same few steps with ten entries or ten million, and now and then a
// bounded amount of work more. An Advance over centuries of nothing costs nothing. Advance and
// [Wheel.Drain] take as long as they have entries to yield, and can be left by break.
//
// Honest: a [Handle] goes stale when its entry fires or is cancelled and stays stale
// for ever, however often its memory is used again. Until then it stays good, also while
// the entry is parked.
//
// Light: 29 bytes an entry with a payload of four bytes, up to 39 under heavy
// rescheduling. No operation allocates, but for growth. If the payload has no
// pointers, the garbage collector does not look at the entries. A payload of hundreds of
// bytes is better kept elsewhere, and its index here.
//
// # Ticks and clocks
//
// To drive a wheel by a clock, choose a unit and a start, and round deadlines up and
// the time down, so that nothing is early:
//
//	deadline := wheel.Tick((d + time.Millisecond - 1) / time.Millisecond) // d since the start
//	now := wheel.Tick(time.Since(start) / time.Millisecond)
//
// Sleep until [Wheel.Next], then Advance. Next is exact for what is near and a lower
// bound for what is far: a wheel does not sort what will not be due for long. A caller
// that finds nothing due there finds a later Next.
//
// # A budget
//
// An Advance after a long pause may have much to yield. A caller that holds a lock
// meanwhile takes what it can afford, breaks off, and comes back for the rest:
//
//	for _, k := range w.Advance(now) {
//		evict(k)
//		if budget--; budget == 0 {
//			break
//		}
//	}
//
// # Entries that stay
//
// Advance ends what it yields. Who keeps timers that are stopped and started, or come
// again and again, parks them instead: a parked entry has a handle and a payload and is
// not due at any tick. [Wheel.Park] takes an entry off the wheel, [Wheel.Reserve] makes
// one that was never on it, and [Wheel.Pop] is an Advance that parks what is due, one
// entry a call ([Wheel.Peek] leaves it armed). Reschedule arms it again and Cancel ends it:
//
//	for h, _, ok := w.Pop(now); ok; h, _, ok = w.Pop(now) {
//		job := w.Value(h)                   // the payload, in place
//		w.Reschedule(h, now+job.period)     // or leave it parked
//	}
//
// # Garbage
//
// What is cancelled, parked or moved leaves a dead word of four bytes behind, which a
// wheel does away with when there are too many or their bucket comes due. [Wheel.Stale]
// counts them. A caller that would rather have the room earlier calls [Wheel.Compact] with
// a small number now and then; [Wheel.Trim] gives what comes free back to the garbage
// collector.
//
// # How it works
//
// A tick is eleven digits of six bits. The wheel is a trie of those digits of which
// only the path to the present is laid out: the node of level 0 has a branch for each
// of the next 64 ticks, the node of level 1 one for each of the 63 blocks of 64 ticks
// after that, and so on.
//
//	level   a branch spans       at 1 ms a tick     the node reaches
//	0       1 tick               1 ms               64 ms
//	1       64                   64 ms              4 s
//	2       4,096                4 s                4 minutes
//	3       262,144              4 minutes          5 hours
//	4       16,777,216           5 hours            12 days
//	5       1,073,741,824        12 days            2 years
//	…
//	10      2^60                 36 million years   all there is
//
// An entry is filed at the highest digit in which its tick differs from the present,
// at the end of a bucket that is not sorted further. When the present reaches a
// branch, its bucket is spread over the node below. A bucket that outgrows 4,096
// entries is spread before that, so no step is ever long. The design document has the
// rest, with figures: https://github.com/foliot-go/foliot/blob/main/docs/design.md
package wheel
