package context

import (
	std "context"
	"errors"
	"testing"
	"time"
)

func TestTheStandardPackageIsKnown(t *testing.T) {
	if !canAdopt || !canPeek {
		t.Errorf("canAdopt is %t and canPeek is %t with this release of Go", canAdopt, canPeek)
	}
	for _, name := range []string{"children", "nothing"} {
		if offset, ok := fieldOffset(name); ok {
			t.Errorf("the field %s is an atomic.Value at %d", name, offset)
		}
	}
}

// without runs f as with a release of Go whose standard package is not known.
func without(t *testing.T, f func()) {
	t.Helper()
	wasAdopt, wasPeek := canAdopt, canPeek
	canAdopt, canPeek = false, false
	defer func() { canAdopt, canPeek = wasAdopt, wasPeek }()
	f()
}

func TestStandardContextsBelowNodesNeedNoKnownFields(t *testing.T) {
	late := &reason{DeadlineExceeded, errors.ErrUnsupported}
	for _, wrap := range []func(Context) Context{
		func(ctx Context) Context { return ctx },
		func(ctx Context) Context { return std.WithValue(ctx, new(int), 1) },
	} {
		without(t, func() {
			parent, cancel := WithTimeout(Background(), time.Hour)
			defer cancel()
			child, cancelChild := std.WithCancel(wrap(parent))
			defer cancelChild()
			own, cancelOwn := WithCancel(wrap(parent))
			defer cancelOwn()
			if child.Err() != nil || own.Err() != nil || std.Cause(ownErr{parent}).Error() != "own" {
				t.Errorf("Err is %v and %v, Cause of a wrapper is %v", child.Err(), own.Err(), std.Cause(ownErr{parent}))
			}
			nodeOf(parent).finish(late)
			for _, ctx := range []Context{parent, own, child} {
				<-ctx.Done()
				if err, cause := ctx.Err(), Cause(ctx); err != late.err || cause != late.cause {
					t.Errorf("%v has ended with %v, cause %v", ctx, err, cause)
				}
			}
		})
	}
}

func TestContextsBelowStandardOnesNeedNoKnownFields(t *testing.T) {
	without(t, func() {
		parent, cancel := std.WithCancelCause(Background())
		child, cancelChild := WithTimeout(parent, time.Hour)
		defer cancelChild()
		quiet, cancelQuiet := WithTimeout(parent, time.Hour)
		defer cancelQuiet()
		below, cancelBelow := WithCancel(quiet)
		defer cancelBelow()
		if isClosed(child.Done()) || quiet.Err() != nil || below.Err() != nil {
			t.Error("a context has ended")
		}
		cancel(errors.ErrUnsupported)
		for _, ctx := range []Context{below, quiet, child} {
			if !isClosed(ctx.Done()) || ctx.Err() != Canceled || Cause(ctx) != errors.ErrUnsupported {
				t.Errorf("Err is %v, Cause %v, done %t", ctx.Err(), Cause(ctx), isClosed(ctx.Done()))
			}
		}
	})
}
