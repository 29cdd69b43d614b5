package wheel

import (
	"iter"
	"math/bits"
)

// Advance moves the wheel on to a tick, and removes and yields all that is due
// then: by tick, and in the order of arming where ticks are equal. It acts while it
// is ranged over, not when it is called. With an earlier tick than Now() it yields
// what is due already.
//
// The yielded entry is gone: its handle is stale and Len does not count it. The
// body may use every method of the wheel but Advance, Drain, Pop and Peek, which panic there.
// What it makes due waits for the next Advance.
//
// To break out of the loop is to have had enough for now: Now() is the tick given
// to Advance all the same, and the next Advance yields the rest, whatever its
// argument. A panic or runtime.Goexit in the body leaves the wheel in the same state.
// Between two yields Advance does a bounded amount of work.
func (w *Wheel[V]) Advance(now Tick) iter.Seq2[Tick, V] {
	return func(yield func(Tick, V) bool) {
		w.advance(now, yield)
	}
}

func (w *Wheel[V]) advance(now Tick, yield func(Tick, V) bool) {
	if w == nil {
		return
	}
	w.begin(advancing)
	defer w.end()
	w.now = max(w.now, now)
	for w.seek() {
		if !w.fire(&w.path[0].branch[w.cursor&digitMask], yield) {
			return
		}
	}
	w.cursor = w.now
}

// Drain removes and yields every armed entry, whether due or not. Entries of one tick
// come in the order of arming, so that to schedule them elsewhere as they come
// keeps that order; the ticks come in no particular order, which saves the work of
// sorting them. Handles go stale as their entries are yielded, and Now() stays. What
// the body leaves by breaking out stays in the wheel. The body may use every method
// but Advance, Drain, Pop and Peek; what it arms in this wheel is yielded too, or stays, so one
// that arms an entry for each that it gets may never end.
func (w *Wheel[V]) Drain() iter.Seq2[Tick, V] {
	return func(yield func(Tick, V) bool) {
		if w == nil {
			return
		}
		w.begin(draining)
		defer w.end()
		for b := w.anyBucket(); b != nil; b = w.anyBucket() {
			if !w.fire(b, yield) {
				return
			}
		}
	}
}

// Next returns a tick before which nothing is due, and false if nothing is armed.
// It is exact within the block of 64 ticks, counted from tick 0, that Now() is in, and
// a lower bound beyond: Advance to it yields something or raises it, and an entry alone
// in the wheel is reached in at most eleven such steps. While something is due,
// Next() <= Now().
func (w *Wheel[V]) Next() (Tick, bool) {
	b, at, _ := w.first()
	return at, b != nil
}

// Soonest returns what Next does, but the exact tick of the earliest entry where the
// bucket that it is in has at most limit words: they are looked at one by one.
func (w *Wheel[V]) Soonest(limit int) (Tick, bool) {
	b, start, shift := w.first()
	if b == nil || shift == 0 || int(b.size-1)*chunkWords > limit {
		return start, b != nil
	}
	at := Never
	c := b.head
	for range b.size {
		words := w.chunks.get(c)
		for live := w.alive(b, c); live != 0; live &= live - 1 {
			at = min(at, w.slots.get(words[bits.TrailingZeros32(live)&31]).at)
		}
		c = words[chunkNext]
	}
	return at, true
}

// Nearest appends to dst the handles of the entries that share a bucket with the earliest
// one, as far as there is room in dst without growing, and tells whether these are all of
// them. Every other entry of the wheel is due later than each of these.
func (w *Wheel[V]) Nearest(dst []Handle) (near []Handle, all bool) {
	b, _, _ := w.first()
	if b == nil {
		return dst, true
	}
	c := b.head
	for range b.size {
		words := w.chunks.get(c)
		for live := w.alive(b, c); live != 0; live &= live - 1 {
			if len(dst) == cap(dst) {
				return dst, false
			}
			i := words[bits.TrailingZeros32(live)&31]
			dst = append(dst, w.handle(i, w.slots.get(i).gen))
		}
		c = words[chunkNext]
	}
	return dst, true
}

// first returns the bucket of the earliest entry, nil if there is none, the first tick
// of its range and the position of its digit.
func (w *Wheel[V]) first() (b *bucket, at Tick, shift uint) {
	if w == nil {
		return nil, 0, 0
	}
	for level, n := range w.path[:levels] {
		if n == nil || n.occupied == 0 {
			continue
		}
		shift = uint(level * digitBits)
		at = w.branchStart(n, shift)
		d := digit(at, shift)
		for ; n.open>>d&1 != 0; d = digit(at, shift) {
			n = w.nodes[n.branch[d].head]
			shift -= digitBits
			at |= Tick(bits.TrailingZeros64(n.occupied)) << shift
		}
		return &n.branch[d], at, shift
	}
	return nil, 0, 0
}

// branchStart returns the first tick of the lowest occupied branch of a node on the
// path.
func (w *Wheel[V]) branchStart(n *node, shift uint) Tick {
	before := w.cursor >> shift >> digitBits << digitBits << shift
	return before | Tick(bits.TrailingZeros64(n.occupied))<<shift
}

func (w *Wheel[V]) begin(p passKind) {
	if w.pass != noPass {
		panic("wheel: Advance or Drain in the body of Advance or Drain")
	}
	w.pass = p
	w.fence = 0
}

func (w *Wheel[V]) end() {
	w.pass = noPass
	w.fence = 0
}

// seek moves the cursor to the next tick that has entries, and tells whether there
// is one up to now. The earliest entry is always in the lowest node of the path that
// holds any; where that node's first branch spans more than a tick, the path is led
// into it and the search goes on there.
func (w *Wheel[V]) seek() bool {
	for level := 0; level < levels; {
		n := w.path[level]
		if n == nil || n.occupied == 0 {
			level++
			continue
		}
		shift := uint(level * digitBits)
		start := w.branchStart(n, shift)
		if start > w.now {
			return false
		}
		w.cursor = start
		if level == 0 {
			return true
		}
		w.enter(n, digit(start, shift), level)
		level--
	}
	return false
}

// enter leads the path from a node into one of its branches. The path below, which
// ends before that branch, is empty.
func (w *Wheel[V]) enter(n *node, d uint, level int) {
	old := n.branch[d]
	open := n.open>>d&1 != 0
	n.branch[d] = bucket{}
	n.occupied &^= 1 << d
	n.open &^= 1 << d
	below := w.path[level-1]
	if open {
		if below != nil {
			w.freeNode(below)
		}
		below = w.nodes[old.head]
	} else {
		if below == nil {
			below = w.newNode()
		}
		w.spread(old, below, uint(level-1)*digitBits)
	}
	below.onPath = true
	w.path[level-1] = below
}

// fire removes and yields the entries of a bucket, up to the fence if that is in its
// chain, and tells whether to go on with other buckets.
//
// Between two yields the body may take words out of the bucket. If that moved others
// or freed their chunks, fire begins anew at the head: what it has yielded is dead.
func (w *Wheel[V]) fire(b *bucket, yield func(Tick, V) bool) bool {
	for b.live > 0 {
		c := b.head
		if c == w.fence {
			return false
		}
		if w.pass == draining {
			w.ahead(b, c)
		}
		moved := w.moved
		for live := w.alive(b, c); live != 0; live = w.alive(b, c) {
			pos := c<<5 | uint32(bits.TrailingZeros32(live))
			i := w.chunks.get(c)[pos&31]
			s := w.slots.get(i)
			at, v := s.at, s.v
			w.bury(pos)
			w.release(i, s)
			w.count--
			b.live--
			if b.live == 0 {
				w.tidy(pos, at)
			}
			if !yield(at, v) {
				return false
			}
			if w.moved != moved {
				break
			}
		}
		if w.moved == moved {
			w.popChunk(b)
			if b.desolate() {
				w.sweep(b)
			}
		}
	}
	return true
}

// ahead reads the slots of a chunk, so that their cache misses overlap and fire finds
// them at hand. Advance has no need of it: it has just spread its entries.
func (w *Wheel[V]) ahead(b *bucket, c uint32) {
	words := w.chunks.get(c)
	var sum uint32
	for live := w.alive(b, c); live != 0; live &= live - 1 {
		sum += w.slots.get(words[bits.TrailingZeros32(live)&31]).gen
	}
	w.touch = sum
}

// anyBucket returns a bucket with entries, or nil if the wheel is empty.
func (w *Wheel[V]) anyBucket() *bucket {
	for _, n := range w.path[:levels] {
		if n == nil || n.occupied == 0 {
			continue
		}
		d := bits.TrailingZeros64(n.occupied)
		for n.open>>d&1 != 0 {
			n = w.nodes[n.branch[d].head]
			d = bits.TrailingZeros64(n.occupied)
		}
		return &n.branch[d]
	}
	return nil
}
