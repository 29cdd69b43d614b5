package context_test

import (
	std "context"
	"testing"

	"github.com/foliot-go/foliot/context"
)

func TestAllocationsOfADeadlineThatIsNotReached(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	cancellable, cancel := std.WithCancel(std.Background())
	defer cancel()
	own, cancelOwn := context.WithTimeout(std.Background(), 2*hour)
	defer cancelOwn()
	for _, test := range []struct {
		name   string
		parent std.Context
		use    func(std.Context)
		want   float64
	}{
		{"below Background", std.Background(), func(std.Context) {}, 2},
		{"below a standard one", cancellable, func(std.Context) {}, 2},
		{"below one of ours", own, func(std.Context) {}, 2},
		{"asked for its error", cancellable, func(ctx std.Context) { _ = ctx.Err() }, 2},
		{"waited for, below Background", std.Background(), func(ctx std.Context) { ctx.Done() }, 8},
		{"waited for, below one of ours", own, func(ctx std.Context) { ctx.Done() }, 8},
		{"waited for, below a standard one", cancellable, func(ctx std.Context) { ctx.Done() }, 11},
	} {
		got := testing.AllocsPerRun(2000, func() {
			ctx, cancel := context.WithTimeout(test.parent, hour)
			test.use(ctx)
			cancel()
		})
		if got > test.want {
			t.Errorf("%s: %v allocations, want %v", test.name, got, test.want)
		}
	}
	_, cancelLive := context.WithCancel(own)
	defer cancelLive()
	if n := testing.AllocsPerRun(2000, func() {
		_ = own.Err()
		own.Done()
		own.Value(testKey("k"))
	}); n != 0 {
		t.Errorf("asking a context: %v allocations", n)
	}
}
