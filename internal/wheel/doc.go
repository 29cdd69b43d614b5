// Package wheel implements the hierarchical timing wheel that the public package of the same name
// documents, and on which packages foliot and loop build their schedulers. The public Wheel is this
// one with fewer methods.
//
// # How it works
//
// A tick is eleven digits of six bits. The wheel is a trie of these digits, of which only the path to
// the current tick exists. The node of level 0 has a branch for each tick of the current block of 64
// ticks. The node of level 1 has a branch for each such block of the current 4,096 ticks, and so on:
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
// An entry goes to the level of the highest digit in which its tick differs from the current tick,
// and there to the end of its branch's bucket, which is not sorted. When time reaches a branch, its
// bucket's entries are redistributed over the node one level below. A bucket with more than 4,096
// entries is split before that, so that no step takes long. See
// https://github.com/foliot-go/foliot/blob/main/docs/wheel.md for the details, with figures.
//
// # For schedulers
//
// These methods are not in the public package:
//
//   - [Wheel.Pop] parks the first entry that is due, where Advance removes it; [Wheel.Peek] only
//     returns it, and [Wheel.Popped] later returns the tick of a popped one. [Wheel.Requeue] arms
//     an entry like Reschedule, but also for a tick before Now().
//   - [Wheel.Entry] returns an entry's tick and a pointer to its value. [Wheel.Numbered] finds an
//     entry by half of its handle, its [Number], and [Wheel.CancelNumbered] removes many entries in
//     less time than Cancel.
//   - Looking ahead: [Wheel.Soonest] returns an exact deadline where Next returns a lower bound.
//     [Wheel.Nearest] returns the handles of the next entries. [Wheel.Ahead] lets the cache misses
//     of due entries overlap.
//   - Histograms: [Wheel.Spans] counts the entries by when they are due, and [Horizon] fills the
//     gaps between the counts. [Wheel.Sample] picks entries at random.
//   - Dead references: an entry that is canceled, parked or moved leaves four bytes in its bucket,
//     which the wheel reuses or removes later. [Wheel.Stale] counts them, and [Wheel.Compact]
//     removes them sooner.
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
//	scheduler.go    the methods for schedulers; rewind.go, spans.go, sample.go
//	memory.go       growing and Trim; arena.go and bitset.go are below it
//
// The terms of the package:
//
//	slot     the memory of one entry: tick, generation, position, value
//	node     64 branches; a branch is empty, or a bucket, or split: then it has a child node
//	bucket   the entries of one branch in arming order, as a chain of chunks of 30 refs
//	ref      four bytes that name a slot; dead when its entry has left the bucket
//	recent   of an armed entry: its ref is not in a bucket yet
//	settle   to file all recent entries in their buckets, and to mark all dead refs
//	slab     1,024 slots or 1,024 chunks, allocated at once
package wheel
