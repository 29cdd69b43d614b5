package context_test

import (
	std "context"
	"testing"
	"time"

	"github.com/foliot-go/foliot/context"
)

// BenchmarkWithTimeout is a deadline per request that is not reached, with the standard package beside it. Done says
// that somebody waits for it.
func BenchmarkWithTimeout(b *testing.B) {
	cancellable, cancel := std.WithCancel(std.Background())
	defer cancel()
	own, cancelOwn := context.WithTimeout(std.Background(), 2*time.Hour)
	defer cancelOwn()
	for _, parent := range []struct {
		name string
		ctx  std.Context
	}{
		{"background", std.Background()},
		{"cancellable", cancellable},
		{"own", own},
	} {
		for _, pkg := range []struct {
			name string
			f    func(std.Context, time.Duration) (std.Context, std.CancelFunc)
		}{
			{"std", std.WithTimeout},
			{"foliot", context.WithTimeout},
		} {
			b.Run("parent="+parent.name+"/done=false/pkg="+pkg.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, cancel := pkg.f(parent.ctx, time.Hour)
					cancel()
				}
			})
			b.Run("parent="+parent.name+"/done=true/pkg="+pkg.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					ctx, cancel := pkg.f(parent.ctx, time.Hour)
					ctx.Done()
					cancel()
				}
			})
		}
	}
}
