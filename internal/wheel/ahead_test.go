package wheel

import (
	"math/rand/v2"
	"testing"
)

func TestAheadReturnsTheNextEntriesOfPop(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, span := range []Tick{1, 40, 200, 5000} {
		var w Wheel[int]
		next := 0
		found := 0
		for now := Tick(0); now < 20*span; now += Tick(r.Uint64N(uint64(span)) + 1) {
			var live []Handle
			for range r.IntN(40) {
				next++
				live = append(live, w.Schedule(now+Tick(r.Uint64N(uint64(3*span))), next))
			}
			for _, h := range live {
				if r.IntN(4) == 0 {
					w.Cancel(h)
				}
			}
			for {
				if _, _, ok := w.Peek(now); !ok {
					break
				}
				room := r.IntN(20)
				near := w.Ahead(make([]*int, 0, room))
				if len(near) == 0 && room > 0 {
					t.Fatalf("span %d: an entry is due, but Ahead returns none", span)
				}
				want := make([]int, len(near))
				for i, v := range near {
					want[i] = *v
				}
				for _, v := range want {
					h, at, ok := w.Pop(now)
					if !ok || *w.Value(h) != v {
						t.Fatalf("span %d: Pop at %d does not return %d, but Ahead did",
							span, now, v)
					}
					if at > now {
						t.Fatalf("span %d: Ahead at %d returned an entry for %d", span, now, at)
					}
					w.Cancel(h)
					found++
				}
				if room == 0 {
					h, _, _ := w.Pop(now)
					w.Cancel(h)
				}
				wantSound(t, &w)
			}
			if near := w.Ahead(make([]*int, 0, 1)); len(near) != 0 {
				t.Fatalf("span %d: nothing is due, but Ahead returns %d", span, *near[0])
			}
		}
		if found < 100 {
			t.Fatalf("span %d: Ahead returned only %d entries", span, found)
		}
	}
}

func TestAheadOfAnEmptyWheelReturnsNothing(t *testing.T) {
	var none *Wheel[int]
	var empty Wheel[int]
	for _, w := range []*Wheel[int]{none, &empty, New[int](5, 10)} {
		if near := w.Ahead(make([]*int, 0, 4)); len(near) != 0 {
			t.Errorf("Ahead returns %d entries, want none", len(near))
		}
	}
}
