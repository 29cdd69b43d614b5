package context_test

import (
	std "context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/context"
)

func TestDeadlinesInABubbleUseTheTimeOfTheBubble(t *testing.T) {
	armed := foliot.Default().Stats().Armed
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithTimeoutCause(std.Background(), hour, errTooSlow)
		defer cancel()
		child, cancelChild := context.WithCancel(ctx)
		defer cancelChild()
		want, cancelWant := std.WithTimeout(std.Background(), hour)
		defer cancelWant()
		if nameOf(ctx) != nameOf(want) || fmt.Sprintf("%T", ctx) != fmt.Sprintf("%T", want) {
			t.Errorf("%v is not %v", ctx, want)
		}
		if n := foliot.Default().Stats().Armed; n != armed {
			t.Errorf("%d timers are armed in the default runtime, %d before", n, armed)
		}
		time.Sleep(hour - 1)
		synctest.Wait()
		wantLive(t, "a nanosecond before", child)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		wantEnded(t, "at the deadline", ctx, std.DeadlineExceeded, errTooSlow)
		wantEnded(t, "below", child, std.DeadlineExceeded, errTooSlow)
		if d := time.Since(start); d != hour {
			t.Errorf("it took %v", d)
		}
		late, cancelLate := context.WithDeadline(std.Background(), start)
		defer cancelLate()
		wantEnded(t, "a deadline that has passed", late, std.DeadlineExceeded, std.DeadlineExceeded)
	})
}

func TestContextsInsideAndOutsideOfABubble(t *testing.T) {
	outside, cancelOutside := context.WithTimeout(std.Background(), hour)
	defer cancelOutside()
	outside.Done()
	synctest.Test(t, func(t *testing.T) {
		inside, cancel := context.WithTimeout(std.Background(), time.Second)
		defer cancel()
		<-inside.Done()
		wantLive(t, "outside", outside)
	})
	cancelOutside()
	wantEnded(t, "outside", outside, std.Canceled, std.Canceled)
}
