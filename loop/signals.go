package loop

import "sync/atomic"

// signalBits is one machine word. It holds the signals that other goroutines set for the
// loop, and the sleep mode of the loop, zero while the loop is awake. The word only
// changes by these operations, each of them one atomic step:
//
//	operation          by                      allowed        afterwards
//	set(sig)           any goroutine           always         sig is set, the loop is awake
//	markAsleep(mode)   the loop's goroutine    no signal set  the loop sleeps in that mode
//	markAwake          the loop's goroutine    always         the loop is awake
//	clear(sig)         the loop's goroutine    while awake    sig is not set
//
// A goroutine whose set finds the loop asleep must then wake it, with waker.wake.
//
// The invariant: while a sleep mode is set, no signal is. markAsleep is refused while a
// signal is set, and set ends the sleep mode in the step in which it sets the signal. So
// if several goroutines set signals while the loop sleeps, exactly one of them finds it
// asleep and wakes it. And a loop that wants to sleep after a signal was set sees the
// signal.
//
// The call of waker.wake comes after the step. If the loop has woken up by itself in the
// meantime, the call is late and ends the next sleep early. That is harmless: after every
// sleep the loop checks for signals and due timers, whatever ended the sleep.
type signalBits uint32

const (
	sigPosted  signalBits = 1 << iota // the inbox is not empty. Changed under inbox.mu only
	sigStopped                        // Stop was called
	sigRecheck                        // a context has ended, or the last hold was released
	sigClosed                         // Close was called. Never cleared

	sleepOnChannel // asleep until waker.wakeCh receives, or a standard timer fires
	sleepOnAlarm   // asleep until waker.alarm goes off

	sigMask   = sigPosted | sigStopped | sigRecheck | sigClosed
	sleepMask = sleepOnChannel | sleepOnAlarm
)

// set returns the word with sig set and no sleep mode. It also returns the sleep mode
// that the word had: the caller must wake the loop from it. Zero means that the loop was
// awake.
func (b signalBits) set(sig signalBits) (next, mode signalBits) {
	return (b | sig) &^ sleepMask, b & sleepMask
}

// markAsleep returns the word with the given sleep mode. It returns false, and the word
// as it is, if a signal is set.
func (b signalBits) markAsleep(mode signalBits) (next signalBits, ok bool) {
	if b&sigMask != 0 {
		return b, false
	}
	return b | mode, true
}

func (b signalBits) markAwake() signalBits { return b &^ sleepMask }

func (b signalBits) clear(sig signalBits) signalBits { return b &^ sig }

// signals is a signalBits that goroutines share.
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
