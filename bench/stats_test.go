package bench

import "testing"

func TestAQuantileIsTheSmallestNumberThatEnoughNumbersDoNotExceed(t *testing.T) {
	ten := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, c := range []struct{ q, want float64 }{{0, 1}, {0.05, 1}, {0.1, 1}, {0.11, 2}, {0.5, 5}, {0.9, 9}, {0.99, 10}, {1, 10}} {
		if got := quantile(ten, c.q); got != c.want {
			t.Errorf("%v of ten: %v, want %v", c.q, got, c.want)
		}
	}
	if got := quantile(ten[:1], 0.5); got != 1 {
		t.Errorf("half of one: %v", got)
	}
}

func TestRatiosAreTakenRoundByRound(t *testing.T) {
	got := spread(ratios([]float64{10, 30, 20, 5, 0}, []float64{1, 10, 4, 0, 5}))
	if want := (Spread{3, 5, 10, 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := spread([]float64{4, 1, 2, 8}).Median; got != 3 {
		t.Errorf("the median of 1, 2, 4, 8 is %v, want 3", got)
	}
	if got := spread(nil); got.Rounds != 0 {
		t.Errorf("nothing measured: %+v", got)
	}
}
