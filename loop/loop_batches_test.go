package loop

import (
	"context"
	"testing"
	"time"
)

func TestBatchesThatQueueTheNextComeToAnEnd(t *testing.T) {
	for name, clock := range map[string]Clock{"system": nil, "virtual": Virtual(0)} {
		t.Run(name, func(t *testing.T) {
			l := New(Options{Clock: clock})
			defer l.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for range 5 {
				const want = 200_000
				timers := 0
				l.CallLater(time.Millisecond, func() { timers++ })
				calls := 0
				var batch func()
				batch = func() {
					for range 1024 {
						l.CallSoon(func() { calls++ })
					}
					if calls < want {
						l.CallSoon(batch)
					}
				}
				l.CallSoon(batch)
				if err := l.RunUntilIdle(ctx); err != nil {
					t.Fatal(err)
				}
				if calls < want || timers != 1 {
					t.Fatalf("%d calls and %d timers", calls, timers)
				}
			}
		})
	}
}
