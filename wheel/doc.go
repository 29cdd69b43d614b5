// Package wheel is a hierarchical timing wheel: a data structure that holds any number of
// deadlines and yields those that are due, in order.
//
// It is for programs that manage many deadlines themselves, behind a lock or on one
// goroutine: caches, protocol stacks, session tables, simulations. A wheel starts no
// goroutine and reads no clock. Time is a number, the [Tick], in a unit that the caller
// chooses, and it passes when the caller says so:
//
//	var w wheel.Wheel[string]
//
//	h := w.Schedule(100, "retransmit")       // at tick 100
//	w.Schedule(100, "keep-alive")            // at the same tick, after it
//	w.Reschedule(h, 250)                     // the handle stays valid
//	w.Cancel(h)                              // true: it will not be yielded
//
//	for at, what := range w.Advance(120) {   // everything that is due at tick 120
//		fmt.Println(at, what)                // 100 keep-alive
//	}
//
// # The loop
//
// A program that drives a wheel by a clock chooses a unit and a start. It rounds deadlines up
// and the current time down, so that nothing is early. It sleeps until [Wheel.Next] and advances
// the wheel, again and again:
//
//	for next, ok := w.Next(); ok; next, ok = w.Next() {
//		time.Sleep(time.Until(start.Add(time.Duration(next) * time.Millisecond)))
//		for _, what := range w.Advance(wheel.Tick(time.Since(start) / time.Millisecond)) {
//			fmt.Println(what)
//		}
//	}
//
// Next is exact for near entries. For far ones it is a lower bound, because a wheel does not
// sort entries that will not be due for long. So a pass may yield nothing, but then Next is later
// than before.
//
// After a long pause a pass may yield many entries. A caller that holds a lock can break out of
// the loop when it has done enough. The next pass yields the rest:
//
//	for _, key := range w.Advance(now) {
//		evict(key)
//		if budget--; budget == 0 {
//			break
//		}
//	}
//
// # Rules
//
//   - An entry is yielded by the first [Wheel.Advance] to its tick or to a later one, and never
//     before. This holds at any distance and for every tick of a uint64.
//   - [Wheel.Schedule] and [Wheel.Reschedule] arm an entry. Entries come in the order of their
//     ticks, and entries of one tick in the order in which they were armed. A tick before Now()
//     counts as Now().
//   - A [Handle] is valid until its entry is yielded or cancelled. Then it is stale and never
//     names another entry.
//   - The body of Advance and [Wheel.Drain] may use every method except Advance, Drain,
//     [Wheel.Pop], [Wheel.Peek] and [Wheel.Rewind], which panic there. An entry that the body of Advance makes due
//     waits for the next Advance.
//   - A Wheel is not safe for concurrent use.
//
// # Cost
//
// Schedule, Reschedule, [Wheel.Cancel], [Wheel.Park] and Next take constant time: a few steps
// with ten entries or ten million, and now and then a bounded amount of work more. Advance and
// Drain take time in proportion to the entries that they yield. Ticks without entries cost
// nothing, even centuries of them.
//
// An entry with a value of four bytes takes 29 bytes, and up to 39 bytes when entries are
// rescheduled a lot. No method allocates except to grow. If V has no pointers, the garbage
// collector does not scan the entries. A value of hundreds of bytes is better kept elsewhere,
// with its index in the wheel. A wheel keeps its memory when it becomes smaller, until the
// program calls [Wheel.Trim].
//
// # How it works
//
// A tick is eleven digits of six bits. The wheel is a trie of these digits, of which only the
// path to the current tick exists. The node of level 0 has a branch for each tick of the current
// block of 64 ticks. The node of level 1 has a branch for each such block of the current 4,096
// ticks, and so on:
//
//	level   a branch spans       at 1 ms per tick   the node spans
//	0       1 tick               1 ms               64 ms
//	1       64                   64 ms              4 s
//	2       4,096                4 s                4 minutes
//	3       262,144              4 minutes          5 hours
//	4       16,777,216           5 hours            12 days
//	5       1,073,741,824        12 days            2 years
//	…
//	10      2^60                 36 million years   all ticks
//
// An entry goes to the level of the highest digit in which its tick differs from the current
// tick, and there to the end of the bucket of its branch. A bucket is not sorted. When time
// reaches a branch, the entries of its bucket are redistributed over the node of the level below.
// A bucket with more than 4,096 entries is split before that, so that no step takes long.
// https://github.com/foliot-go/foliot/blob/main/docs/wheel.md has the details, with figures.
//
// # For schedulers
//
// Package foliot and package loop are schedulers built on this wheel. They need methods that
// other programs do not need:
//
//   - Entries that are stopped and started again. Advance removes what it yields, but a parked
//     entry keeps its handle and its value and is not due at any tick. [Wheel.Park] parks an armed
//     entry, [Wheel.Reserve] makes a parked one, and Pop parks the first entry that is due; Peek
//     only returns it. Reschedule arms a parked entry, and so does [Wheel.Requeue], also for a tick
//     before Now().
//   - A way back: [Wheel.Rewind] moves the wheel to an earlier tick, so that an entry can be armed
//     for the past, and after a look at the future.
//   - Values in place: [Wheel.Value] and [Wheel.Entry] return a pointer to the value of an entry.
//     [Wheel.Numbered] finds an entry by half of its handle, [Handle.Number], and
//     [Wheel.CancelNumbered] removes many entries in less time than Cancel.
//   - A look at the next entries: [Wheel.Soonest] returns an exact deadline where Next returns a
//     lower bound. [Wheel.Nearest] returns the handles of the next entries. [Wheel.Ahead] lets the
//     cache misses of entries that are due overlap.
//   - Pictures of the wheel: [Wheel.Spans] counts the entries by when they are due, [Horizon] fills
//     the gaps between the counts, and [Wheel.CountUntil] counts those up to a tick. [Wheel.Sample]
//     picks entries at random.
//   - Dead references: an entry that is cancelled, parked or moved leaves four bytes in its bucket,
//     which the wheel reuses or removes later. [Wheel.Stale] counts them, and [Wheel.Compact]
//     removes them earlier.
//
// # Reading the code
//
// Read the files in this order:
//
//	wheel.go        the types, and the methods on one entry
//	trie.go         nodes: to which bucket an entry goes, and how buckets are split
//	bucket.go       the entries of one branch
//	compact.go      how dead references are removed
//	recent.go       entries that were just armed and are not in a bucket yet
//	removal.go      references that have not been marked dead yet
//	advance.go      Advance, Drain and Next
//	scheduler.go    the methods for schedulers; rewind.go, count.go, spans.go, sample.go
//	memory.go       growing and Trim; arena.go and bitset.go are below it
//
// The words of the package:
//
//	slot     the memory of one entry: tick, generation, position, value
//	node     64 branches; a branch is empty, or a bucket, or split: then it has a child node
//	bucket   the entries of one branch in arming order, as a chain of chunks of 30 refs
//	ref      four bytes that name a slot; dead when its entry has left the bucket
//	recent   of an armed entry: its ref is not in a bucket yet
//	settle   to put all recent entries into their buckets, and to mark all dead refs
//	slab     1,024 slots or 1,024 chunks, allocated at once
package wheel
