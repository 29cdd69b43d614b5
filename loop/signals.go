package loop

import "sync/atomic"

// signalBits is a machine word that holds the signals that other goroutines set for the loop, and
// the loop's sleep mode, which is zero while the loop is awake. It changes only by these
// operations, each of them a single atomic step:
//
//	operation          by                      allowed        afterwards
//	set(sig)           any goroutine           always         sig is set, the loop is awake
//	markAsleep(mode)   the loop's goroutine    no signal set  the loop sleeps in that mode
//	markAwake          the loop's goroutine    always         the loop is awake
//	clear(sig)         the loop's goroutine    while awake    sig is not set
//
// A goroutine whose set finds the loop asleep must then wake it, with waker.wake.
//
// The invariant: while a sleep mode is set, no signal is. markAsleep fails while a signal is set,
// and set ends the sleep mode in the same step in which it sets the signal. If several goroutines
// set signals while the loop sleeps, exactly one of them therefore finds it asleep and wakes it.
// And a loop that wants to sleep after a signal was set sees the signal.
//
// The call to waker.wake comes after that step. If the loop woke up by itself in the meantime, the
// call is late and ends the next sleep early. That is harmless, because after every sleep the loop
// checks for signals and due timers, whatever ended the sleep.
type signalBits uint32

const (
	sigPosted  signalBits = 1 << iota // the inbox is not empty. Changed only under inbox.mu
	sigStopped                        // Stop was called
	sigRecheck                        // a context ended, or the last hold was released
	sigClosed                         // Close was called. Never cleared

	sleepOnChannel // asleep until waker.wakeCh receives, or a standard timer fires
	sleepOnAlarm   // asleep until waker.alarm goes off

	sigMask   = sigPosted | sigStopped | sigRecheck | sigClosed
	sleepMask = sleepOnChannel | sleepOnAlarm
)

// set returns the word with sig set and no sleep mode. It also returns the sleep mode that the word
// had, from which the caller must wake the loop, or zero if the loop was awake.
func (b signalBits) set(sig signalBits) (next, mode signalBits) {
	return (b | sig) &^ sleepMask, b & sleepMask
}

// markAsleep returns the word with the given sleep mode. If a signal is set, it returns false and
// the word unchanged.
func (b signalBits) markAsleep(mode signalBits) (next signalBits, ok bool) {
	if b&sigMask != 0 {
		return b, false
	}
	return b | mode, true
}

func (b signalBits) markAwake() signalBits { return b &^ sleepMask }

func (b signalBits) clear(sig signalBits) signalBits { return b &^ sig }

// signals is a signalBits shared by goroutines.
type signals struct{ bits atomic.Uint32 }

func (s *signals) load() signalBits { return signalBits(s.bits.Load()) }

func (s *signals) set(sig signalBits) (mode signalBits) {
	for {
		old := s.load()
		next, mode := old.set(sig)
		if next == old || s.bits.CompareAndSwap(uint32(old), uint32(next)) {
			return mode
		}
	}
}

func (s *signals) markAsleep(mode signalBits) bool {
	for {
		old := s.load()
		next, ok := old.markAsleep(mode)
		if !ok || s.bits.CompareAndSwap(uint32(old), uint32(next)) {
			return ok
		}
	}
}

func (s *signals) markAwake() { s.bits.And(^uint32(sleepMask)) }

func (s *signals) clear(sig signalBits) { s.bits.And(^uint32(sig)) }
