package contract_test

import "github.com/foliot-go/foliot"

// countOf returns the number of timers in all buckets.
func countOf(h []foliot.HorizonBucket) (n int) {
	for _, b := range h {
		n += b.Count
	}
	return n
}
