package stackhash

import (
	"runtime"
	"testing"
)

func BenchmarkHint(b *testing.B) {
	var sum uint32
	for b.Loop() {
		sum += Hint()
	}
	runtime.KeepAlive(sum)
}

func BenchmarkPick(b *testing.B) {
	sum, n := 0, 12
	for b.Loop() {
		sum += Pick(n)
	}
	runtime.KeepAlive(sum)
}
