package main

import (
	"testing"
	"time"
)

func Example() {
	main()
	// Output:
	// webhook 1: arrived, attempts: 1
	// webhook 2: arrived, attempts: 2
	// webhook 3: arrived, attempts: 3
	// webhook 4: given up, attempts: 1, the last: 410 Gone
	// webhook 5: given up, attempts: 6, the last: 503 Service Unavailable
}

func TestBackoffDoublesUpToMax(t *testing.T) {
	b := Backoff{Base: 5 * time.Millisecond, Max: 30 * time.Millisecond}
	for attempts, want := range map[int]time.Duration{1: 5, 2: 10, 3: 20, 4: 30, 5: 30, 1000: 30} {
		want *= time.Millisecond
		if got := b.bound(attempts); got != want {
			t.Errorf("bound(%d) = %v, want %v", attempts, got, want)
		}
		if got := b.After(attempts); got < 0 || got >= want {
			t.Errorf("After(%d) = %v, want less than %v", attempts, got, want)
		}
	}
	if got := (Backoff{Base: 1, Max: 1<<63 - 1}).bound(100); got != 1<<63-1 {
		t.Errorf("bound(100) = %v, want the largest duration", got)
	}
}
