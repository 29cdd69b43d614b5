package context_test

import (
	std "context"
	"testing"

	"github.com/foliot-go/foliot/context"
	"github.com/foliot-go/foliot/internal/testkit"
)

func TestAllocationsOfADeadlineThatIsNotReached(t *testing.T) {
	standard, cancelStandard := std.WithCancel(std.Background())
	defer cancelStandard()
	own, cancelOwn := context.WithTimeout(std.Background(), 2*hour)
	defer cancelOwn()
	ownBelow, cancelOwnBelow := context.WithTimeout(standard, 2*hour)
	defer cancelOwnBelow()
	nothing := func(std.Context) {}
	askErr := func(ctx std.Context) { _ = ctx.Err() }
	callDone := func(ctx std.Context) { ctx.Done() }
	deriveStandard := func(ctx std.Context) {
		_, cancel := std.WithCancel(ctx)
		cancel()
	}
	for _, test := range []struct {
		name   string
		parent std.Context
		use    func(std.Context)
		want   float64
	}{
		{"below Background", std.Background(), nothing, 2},
		{"below a standard one", standard, nothing, 2},
		{"below one of this package", own, nothing, 2},
		{"below a wrapper of one of this package", wrapper{own}, nothing, 2},
		{"asked for its error", standard, askErr, 2},
		{"Done, below Background", std.Background(), callDone, 3},
		{"Done, below one of this package", own, callDone, 3},
		{"Done, below one of this package below a standard one", ownBelow, callDone, 3},
		{"Done, below a standard one with many below", standard, callDone, 3},
		{"a standard one below it", std.Background(), deriveStandard, 3 + 5 + 4}, // its own, the bridge, the standard one and its place in a list
	} {
		got := testkit.AllocsPerRun(t, 2000, func() {
			ctx, cancel := context.WithTimeout(test.parent, hour)
			test.use(ctx)
			cancel()
		})
		if got > test.want {
			t.Errorf("%s: %v allocations, want %v", test.name, got, test.want)
		}
	}
	if n := testkit.AllocsPerRun(t, 2000, func() {
		parent, cancelParent := std.WithCancel(std.Background())
		ctx, cancel := context.WithTimeout(parent, hour)
		ctx.Done()
		cancel()
		cancelParent()
	}); n > 5+5 { // its own, those of the parent and of its list
		t.Errorf("Done, below a new standard one: %v allocations, want 10", n)
	}
	if n := testkit.AllocsPerRun(t, 2000, func() {
		_, cancel := context.WithCancel(own)
		cancel()
	}); n > 2 {
		t.Errorf("WithCancel: %v allocations, want 2", n)
	}
	_, cancelLive := context.WithCancel(own)
	defer cancelLive()
	if n := testkit.AllocsPerRun(t, 2000, func() {
		_ = own.Err()
		own.Done()
		own.Deadline()
		own.Value(testKey("k"))
	}); n != 0 {
		t.Errorf("questions to a context: %v allocations", n)
	}
}
