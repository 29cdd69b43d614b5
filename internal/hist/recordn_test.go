package hist

import (
	"math"
	"testing"
)

func TestRecordNIsRecordNTimes(t *testing.T) {
	for _, v := range []int64{-1, 0, 1, 31, 32, 1000, 1 << 40, math.MaxInt64} {
		for _, n := range []uint64{0, 1, 2, 33, 1000} {
			var once, each Hist
			once.Record(7)
			each.Record(7)
			once.RecordN(v, n)
			for range n {
				each.Record(v)
			}
			if once != each {
				t.Errorf("RecordN(%d, %d) differs from %d times Record", v, n, n)
			}
		}
	}
}
