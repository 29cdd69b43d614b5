// Package wheel implements a hierarchical timing wheel, a priority queue for deadlines in which
// scheduling, moving and canceling an entry take constant time.
//
// It is for programs that manage many deadlines themselves, behind a lock or on a single goroutine:
// caches, protocol stacks, session tables, simulations. A wheel starts no goroutine and reads no
// clock. Time is a number, the [Tick], in a unit of the caller's choice, and advances only when the
// caller says so:
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
// # Driving a wheel from a clock
//
// Choose a unit and a starting time. Round deadlines up and the current time down, so that nothing
// is early. Then sleep until [Wheel.Next] and advance the wheel, over and over:
//
//	for next, ok := w.Next(); ok; next, ok = w.Next() {
//		time.Sleep(time.Until(start.Add(time.Duration(next) * time.Millisecond)))
//		for _, what := range w.Advance(wheel.Tick(time.Since(start) / time.Millisecond)) {
//			fmt.Println(what)
//		}
//	}
//
// Do not be surprised if Advance occasionally yields nothing. A wheel does not sort entries that
// are far in the future, so for those Next returns a lower bound rather than the exact tick. Each
// such Advance raises Next.
//
// After a long pause there may be many entries to yield. A caller that holds a lock can break out
// of the loop when it has done enough. The next Advance yields the rest:
//
//	for _, key := range w.Advance(now) {
//		evict(key)
//		if budget--; budget == 0 {
//			break
//		}
//	}
//
// # Guarantees and restrictions
//
//   - An entry is yielded by the first [Wheel.Advance] that reaches its tick, never earlier. This
//     holds for every tick of a uint64, however far ahead.
//   - [Wheel.Schedule] and [Wheel.Reschedule] arm an entry. Entries are yielded in tick order, and
//     entries with the same tick in the order in which they were armed. A tick before Now() counts
//     as Now().
//   - A [Handle] is valid until its entry is yielded or canceled. After that it is stale, and never
//     names another entry.
//   - While ranging over Advance or [Wheel.Drain], the loop body may call every method except
//     Advance, Drain and [Wheel.Rewind], which panic there. An entry that the body of an Advance
//     loop makes due waits for the next Advance.
//   - A Wheel is not safe for concurrent use.
//
// # Reusing entries
//
// Advance removes what it yields. An entry that is stopped and started again can be parked instead:
// [Wheel.Park] disarms it, [Wheel.Reserve] creates one that is not armed yet, and Reschedule arms
// it. A parked entry keeps its handle and its value and is not due at any tick.
//
// # Cost
//
// Schedule, Reschedule, [Wheel.Cancel], [Wheel.Park] and Next take constant time: a few steps with
// ten entries or ten million, and now and then a bounded amount of extra work. Advance and Drain
// take time in proportion to the entries that they yield. Ticks without entries cost nothing, even
// centuries of them.
//
// An entry with a value of four bytes takes 29 bytes, and up to 39 bytes when entries are rescheduled
// a lot. No method allocates except to grow. If V has no pointers, the garbage collector does not
// scan the entries. A value of hundreds of bytes is better kept elsewhere, with its index in the
// wheel. A wheel that shrinks keeps its memory until the program calls [Wheel.Trim].
//
// # How it works
//
// A tick is eleven digits of six bits. The wheel is a trie of these digits, of which only the path
// to the current tick exists. An entry goes to the level of the highest digit in which its tick
// differs from the current tick, and there into an unsorted bucket. When time reaches the bucket,
// its entries move down one level. The implementation is in internal/wheel, which has further
// methods for this module's schedulers, and
// https://github.com/foliot-go/foliot/blob/main/docs/wheel.md describes it, with figures.
package wheel
