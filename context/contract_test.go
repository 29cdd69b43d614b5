package context_test

import (
	std "context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/foliot-go/foliot/context"
)

func TestAContextEndsForTheFirstReason(t *testing.T) {
	passed := time.Now().Add(-time.Second)
	for _, test := range []struct {
		name  string
		make  func() (std.Context, std.CancelFunc)
		err   error
		cause error
	}{
		{"cancelled", func() (std.Context, std.CancelFunc) {
			ctx, cancel := context.WithTimeout(std.Background(), hour)
			cancel()
			return ctx, cancel
		}, std.Canceled, std.Canceled},
		{"cancelled, the deadline has a cause", func() (std.Context, std.CancelFunc) {
			ctx, cancel := context.WithTimeoutCause(std.Background(), hour, errTooSlow)
			cancel()
			return ctx, cancel
		}, std.Canceled, std.Canceled},
		{"deadline passed before", func() (std.Context, std.CancelFunc) {
			return context.WithDeadline(std.Background(), passed)
		}, std.DeadlineExceeded, std.DeadlineExceeded},
		{"deadline passed before, with a cause", func() (std.Context, std.CancelFunc) {
			return context.WithDeadlineCause(std.Background(), passed, errTooSlow)
		}, std.DeadlineExceeded, errTooSlow},
		{"timeout of 0", func() (std.Context, std.CancelFunc) {
			return context.WithTimeoutCause(std.Background(), 0, errTooSlow)
		}, std.DeadlineExceeded, errTooSlow},
		{"deadline passed", func() (std.Context, std.CancelFunc) {
			ctx, cancel := context.WithTimeout(std.Background(), millisecond)
			<-ctx.Done()
			return ctx, cancel
		}, std.DeadlineExceeded, std.DeadlineExceeded},
		{"deadline passed, with a cause", func() (std.Context, std.CancelFunc) {
			ctx, cancel := context.WithDeadlineCause(std.Background(), time.Now().Add(millisecond), errTooSlow)
			<-ctx.Done()
			return ctx, cancel
		}, std.DeadlineExceeded, errTooSlow},
		{"parent ended before", func() (std.Context, std.CancelFunc) {
			parent, cancel := std.WithCancelCause(std.Background())
			cancel(errGaveUp)
			return context.WithTimeoutCause(parent, 0, errTooSlow)
		}, std.Canceled, errGaveUp},
		{"parent ended after", func() (std.Context, std.CancelFunc) {
			parent, cancel := std.WithCancelCause(std.Background())
			ctx, stop := context.WithTimeoutCause(parent, 0, errTooSlow)
			cancel(errGaveUp)
			return ctx, stop
		}, std.DeadlineExceeded, errTooSlow},
		{"parent ended meanwhile", func() (std.Context, std.CancelFunc) {
			parent, cancel := std.WithCancelCause(std.Background())
			ctx, stop := context.WithTimeoutCause(parent, hour, errTooSlow)
			cancel(errGaveUp)
			stop()
			return ctx, stop
		}, std.Canceled, errGaveUp},
		{"parent of this package ended meanwhile", func() (std.Context, std.CancelFunc) {
			parent, cancel := context.WithTimeout(std.Background(), hour)
			ctx, stop := context.WithTimeoutCause(parent, hour/2, errTooSlow)
			cancel()
			stop()
			return ctx, stop
		}, std.Canceled, std.Canceled},
		{"context above the parent ended meanwhile", func() (std.Context, std.CancelFunc) {
			top, cancel := std.WithCancelCause(std.Background())
			parent, _ := context.WithTimeout(top, hour)
			ctx, stop := context.WithCancel(parent)
			cancel(errGaveUp)
			stop()
			return ctx, stop
		}, std.Canceled, errGaveUp},
		{"deadline of the parent passed", func() (std.Context, std.CancelFunc) {
			parent, _ := context.WithTimeoutCause(std.Background(), millisecond, errTooSlow)
			ctx, stop := context.WithTimeoutCause(parent, hour, errGaveUp)
			<-ctx.Done()
			return ctx, stop
		}, std.DeadlineExceeded, errTooSlow},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := test.make()
			for range 3 {
				wantEnded(t, "at first", ctx, test.err, test.cause)
				wantEnded(t, "a child", wrapper{std.WithValue(ctx, testKey("k"), 1)}, test.err, test.cause)
				cancel()
			}
		})
	}
}

func TestADeadlineIsNotPassedEarly(t *testing.T) {
	for _, d := range []time.Duration{1, 100 * time.Microsecond, millisecond, 20 * millisecond} {
		ctx, cancel := context.WithTimeout(std.Background(), d)
		deadline, ok := ctx.Deadline()
		if !ok {
			t.Fatal("no deadline")
		}
		await(t, d.String(), ctx)
		if now := time.Now(); now.Before(deadline) {
			t.Errorf("%v: ended %v before the deadline", d, deadline.Sub(now))
		}
		cancel()
	}
}

func TestTheSoonerDeadlineIsUsed(t *testing.T) {
	soon, late := time.Now().Add(hour), time.Now().Add(2*hour)
	for _, with := range []func(std.Context, time.Time) (std.Context, std.CancelFunc){std.WithDeadline, context.WithDeadline} {
		parent, cancel := with(std.Background(), soon)
		defer cancel()
		child, cancelChild := context.WithDeadline(parent, late)
		defer cancelChild()
		if d, ok := child.Deadline(); !ok || !d.Equal(soon) {
			t.Errorf("the deadline is %v, %t below %v", d, ok, soon)
		}
		sooner, cancelSooner := context.WithDeadline(child, soon.Add(-time.Minute))
		defer cancelSooner()
		if d, ok := sooner.Deadline(); !ok || !d.Equal(soon.Add(-time.Minute)) {
			t.Errorf("the deadline is %v, %t", d, ok)
		}
		cancel()
		wantEnded(t, "the child", child, std.Canceled, std.Canceled)
		wantEnded(t, "its child", sooner, std.Canceled, std.Canceled)
	}
}

func TestANilParentPanicsWithTheSameText(t *testing.T) {
	panicOf := func(f func()) (v any) {
		defer func() { v = recover() }()
		f()
		return nil
	}
	var none std.Context
	for name, pair := range map[string][2]func(){
		"WithCancel":        {func() { use(std.WithCancel(none)) }, func() { use(context.WithCancel(none)) }},
		"WithCancelCause":   {func() { use(std.WithCancelCause(none)) }, func() { use(context.WithCancelCause(none)) }},
		"WithTimeout":       {func() { use(std.WithTimeout(none, hour)) }, func() { use(context.WithTimeout(none, hour)) }},
		"WithTimeoutCause":  {func() { use(std.WithTimeoutCause(none, 0, nil)) }, func() { use(context.WithTimeoutCause(none, 0, nil)) }},
		"WithDeadline":      {func() { use(std.WithDeadline(none, time.Now())) }, func() { use(context.WithDeadline(none, time.Now())) }},
		"WithDeadlineCause": {func() { use(std.WithDeadlineCause(none, time.Now(), nil)) }, func() { use(context.WithDeadlineCause(none, time.Now(), nil)) }},
	} {
		if want, got := panicOf(pair[0]), panicOf(pair[1]); want == nil || got != want {
			t.Errorf("%s: panic %v, want %v", name, got, want)
		}
	}
}

func use[C any](std.Context, C) {}

func TestContextsPrintLikeStandardOnes(t *testing.T) {
	d := time.Now().Add(hour)
	for name, wrap := range wrappers {
		base := wrap(std.Background())
		want, cancel1 := std.WithDeadline(base, d)
		got, cancel2 := context.WithDeadline(base, d)
		wantBelow, cancel3 := std.WithCancel(wrap(want))
		gotBelow, cancel4 := context.WithCancel(wrap(got))
		if nameOf(want) != nameOf(got) || nameOf(wantBelow) != nameOf(gotBelow) {
			t.Errorf("%s: %v and %v, want %v and %v", name, got, gotBelow, want, wantBelow)
		}
		if fmt.Sprintf("%T %T", want, wantBelow) != fmt.Sprintf("%T %T", got, gotBelow) {
			t.Errorf("%s: the types are %T and %T, want %T and %T", name, got, gotBelow, want, wantBelow)
		}
		for _, cancel := range []std.CancelFunc{cancel1, cancel2, cancel3, cancel4} {
			cancel()
		}
	}
}

func TestValuesComeFromAbove(t *testing.T) {
	base := std.WithValue(std.Background(), testKey("a"), "above")
	ctx, cancel := context.WithTimeout(base, hour)
	defer cancel()
	below, cancelBelow := context.WithCancel(std.WithValue(ctx, testKey("b"), "between"))
	for _, when := range []string{"before", "after"} {
		for key, want := range map[any]any{testKey("a"): "above", testKey("b"): "between", testKey("c"): nil, "a": nil, nil: nil} {
			if got := below.Value(key); got != want {
				t.Errorf("%s: the value of %v is %v, want %v", when, key, got, want)
			}
		}
		cancelBelow()
	}
}

func TestDoneIsAlwaysTheSameChannel(t *testing.T) {
	waited, cancelWaited := context.WithTimeout(std.Background(), hour)
	before := waited.Done()
	cancelWaited()
	if waited.Done() != before {
		t.Error("Done has changed with the end")
	}
	unwaited, cancelUnwaited := context.WithTimeout(std.Background(), hour)
	cancelUnwaited()
	first := unwaited.Done()
	std.Cause(unwaited)
	unwaited.Err()
	if unwaited.Done() != first {
		t.Error("Done has changed after the end")
	}
}

func TestDoneIsClosedWhenErrReturnsAnError(t *testing.T) {
	for range 2000 {
		ctx, cancel := context.WithTimeout(std.Background(), hour)
		done := ctx.Done()
		go cancel()
		for ctx.Err() == nil {
			runtime.Gosched()
		}
		select {
		case <-done:
		default:
			t.Fatal("Err returns an error, and Done is not closed")
		}
	}
}

// Either reason is right, and it does not change.
func TestACancelAtTheDeadlineHasOneReason(t *testing.T) {
	for i := range 200 {
		ctx, cancel := context.WithTimeoutCause(std.Background(), time.Duration(i)*5*time.Microsecond, errTooSlow)
		time.Sleep(time.Duration(i%7) * 100 * time.Microsecond)
		cancel()
		switch err := ctx.Err(); err {
		case std.Canceled:
			wantEnded(t, "cancelled", ctx, err, err)
		case std.DeadlineExceeded:
			wantEnded(t, "deadline passed", ctx, err, errTooSlow)
		default:
			t.Fatalf("Err is %v after cancel", err)
		}
	}
}
