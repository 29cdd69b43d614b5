package loop

import "testing"

func TestSignalsChangeLikeTheirBits(t *testing.T) {
	for b := signalBits(0); b < 1<<6; b++ {
		for _, sig := range []signalBits{sigPosted, sigStopped, sigRecheck, sigClosed} {
			var s signals
			s.bits.Store(uint32(b))
			next, mode := b.set(sig)
			if got := s.set(sig); got != mode || s.load() != next {
				t.Errorf("%b set %b: word %b, mode %b, want %b and %b",
					b, sig, s.load(), got, next, mode)
			}
			s.bits.Store(uint32(b))
			if s.clear(sig); s.load() != b.clear(sig) {
				t.Errorf("%b clear %b: word %b, want %b", b, sig, s.load(), b.clear(sig))
			}
		}
		for _, mode := range []signalBits{sleepOnChannel, sleepOnAlarm} {
			var s signals
			s.bits.Store(uint32(b))
			next, ok := b.markAsleep(mode)
			if got := s.markAsleep(mode); got != ok || s.load() != next {
				t.Errorf("%b markAsleep %b: word %b, %t, want %b, %t",
					b, mode, s.load(), got, next, ok)
			}
			if s.markAwake(); s.load() != next.markAwake() {
				t.Errorf("%b markAwake: word %b, want %b", next, s.load(), next.markAwake())
			}
		}
	}
}
