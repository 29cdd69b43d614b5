package context

import (
	std "context"
	"errors"
	"testing"
	"time"
)

// endsInValue is a wrapper that calls a function when it is asked for a value.
type endsInValue struct {
	Context
	end func()
}

func (w endsInValue) Value(key any) any {
	w.end()
	return w.Context.Value(key)
}

// The standard package calls Done of the parent, and then Value. The parent ends in between.
func TestAStandardContextThatIsMadeDuringTheEndOfItsParentHasEnded(t *testing.T) {
	for name, r := range map[string]*reason{
		"cancelled":            reasonCanceled,
		"expired":              reasonDeadline,
		"expired with a cause": {DeadlineExceeded, errors.ErrUnsupported},
		"with another error":   {errors.ErrUnsupported, errors.ErrUnsupported},
	} {
		for _, withBridge := range []bool{false, true} {
			parent, cancel := WithTimeout(Background(), time.Hour)
			n := nodeOf(parent)
			if withBridge {
				parent.Value(standardKey)
			}
			child, cancelChild := std.WithCancel(endsInValue{parent, func() { n.finish(r) }})
			if child.Err() != r.err || std.Cause(child) != r.cause || !isClosed(child.Done()) {
				t.Errorf("%s, with a bridge %t: Err is %v, Cause %v, done %t", name, withBridge, child.Err(), std.Cause(child), isClosed(child.Done()))
			}
			for range 2 {
				if err, cause := parent.Err(), std.Cause(parent); err != r.err || cause != r.cause {
					t.Errorf("%s, with a bridge %t: Err of the parent is %v, Cause %v", name, withBridge, err, cause)
				}
			}
			cancelChild()
			cancel()
		}
	}
}

func TestTheInnerContextEqualsTheNode(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		ctx, cancel := WithTimeout(Background(), time.Hour)
		done := ctx.Done()
		var inner Context
		if when == "before" {
			inner = ctx.Value(standardKey).(Context)
			if inner.Done() != done || inner.Err() != nil {
				t.Errorf("the channel is the same: %t, Err is %v", inner.Done() == done, inner.Err())
			}
		}
		cancel()
		if when == "after" {
			inner = ctx.Value(standardKey).(Context)
		}
		if inner.Done() != done || inner.Err() != Canceled || std.Cause(inner) != Canceled || ctx.Value(standardKey) != inner {
			t.Errorf("asked %s the end: the channel is the same: %t, Err is %v, Cause %v", when, inner.Done() == done, inner.Err(), std.Cause(inner))
		}
	}
}
