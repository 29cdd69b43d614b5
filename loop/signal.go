package loop

import "sync/atomic"

// A word is what other goroutines have to say to the loop, and whether it sleeps. It is
// changed by compare-and-swap alone, along these moves:
//
//	move        by                       from             to
//	raise(s)    anybody                  any              s set, awake; who finds it asleep wakes it
//	doze(how)   the loop's goroutine     no signal set    asleep, in that way
//	rouse       the loop's goroutine     any              awake
//	lower(s)    the loop's goroutine     awake            s not set
//
// The invariant is that a loop that is asleep has no signal set: doze is refused while
// there is one, and raise ends the sleep in the same step in which it sets one. So of the
// goroutines that raise signals while the loop sleeps exactly one finds it asleep, and
// wakes it; and a loop that dozes after a signal was raised sees the signal instead.
//
// The wake-up itself comes after the move. If the loop has woken by itself meanwhile, it
// comes late, and cuts the next sleep short. That is harmless: the loop looks around after
// each sleep, whatever has ended it.
type word uint32

const (
	posted  word = 1 << iota // the inbox is not empty. Set and lowered under inbox.mu
	stopped                  // Stop was called
	nudged                   // look again: a context has ended, or the last hold was released
	closed                   // Close was called; never lowered

	onBell  // asleep, until the bell is rung
	onAlarm // asleep, until the alarm goes off

	signals = posted | stopped | nudged | closed
	asleep  = onBell | onAlarm
)

// raise returns the word with a signal set, and the way in which the loop sleeps, from
// which the caller has to wake it; 0: it does not.
func (w word) raise(s word) (next, wake word) { return (w | s) &^ asleep, w & asleep }

// doze returns the word of a loop that sleeps, and false if there is a signal to be seen to.
func (w word) doze(how word) (next word, ok bool) {
	if w&signals != 0 {
		return w, false
	}
	return w | how, true
}

func (w word) rouse() word { return w &^ asleep }

func (w word) lower(s word) word { return w &^ s }

// A board is a word that goroutines share.
type board struct{ v atomic.Uint32 }

func (b *board) load() word { return word(b.v.Load()) }

func (b *board) raise(s word) (wake word) {
	for {
		old := b.load()
		next, wake := old.raise(s)
		if next == old || b.v.CompareAndSwap(uint32(old), uint32(next)) {
			return wake
		}
	}
}

func (b *board) doze(how word) bool {
	for {
		old := b.load()
		next, ok := old.doze(how)
		if !ok || b.v.CompareAndSwap(uint32(old), uint32(next)) {
			return ok
		}
	}
}

func (b *board) rouse() { b.v.And(^uint32(asleep)) }

func (b *board) lower(s word) { b.v.And(^uint32(s)) }
