package durable

import (
	"sync"
	"testing"
	"time"
)

func TestARecorderCountsTheDurationsOfAllGoroutines(t *testing.T) {
	var r recorder
	if n := r.histogram().Count(); n != 0 {
		t.Fatalf("an empty recorder has %d durations", n)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				r.record(time.Duration(g*100 + i))
				if i%17 == g {
					r.histogram()
				}
			}
		})
	}
	wg.Wait()
	before := r.histogram()
	r.record(-time.Second)
	h := r.histogram()
	if before.Count() != 800 || before.Sum() != 799*800/2 || before.Max() != 799 {
		t.Errorf("Count is %d, Sum %d, Max %d", before.Count(), before.Sum(), before.Max())
	}
	if h.Count() != 801 || h.Sum() != before.Sum() {
		t.Errorf("after a negative duration Count is %d and Sum %d", h.Count(), h.Sum())
	}
}
