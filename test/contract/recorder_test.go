package contract_test

import (
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

func TestRecorderCountsTheDurationsOfAllGoroutines(t *testing.T) {
	var r foliot.Recorder
	if n := r.Histogram().Count(); n != 0 {
		t.Fatalf("an empty Recorder has %d durations", n)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				r.Record(time.Duration(g*100 + i))
			}
		})
	}
	wg.Wait()
	before := r.Histogram()
	r.Record(-time.Second)
	h := r.Histogram()
	if before.Count() != 800 || before.Sum() != 799*800/2 || before.Max() != 799 {
		t.Errorf("Count is %d, Sum %d, Max %d", before.Count(), before.Sum(), before.Max())
	}
	if h.Count() != 801 || h.Sum() != before.Sum() {
		t.Errorf("after a negative duration Count is %d and Sum %d", h.Count(), h.Sum())
	}
}
