package contexts

import (
	"context"
	"reflect"
	"time"

	"github.com/foliot-go/foliot"
	dropctx "github.com/foliot-go/foliot/context"
)

// A maker has the functions of an implementation of package context.
type maker struct {
	withCancel        func(context.Context) (context.Context, context.CancelFunc)
	withCancelCause   func(context.Context) (context.Context, context.CancelCauseFunc)
	withDeadline      func(context.Context, time.Time) (context.Context, context.CancelFunc)
	withDeadlineCause func(context.Context, time.Time, error) (context.Context, context.CancelFunc)
	withTimeout       func(context.Context, time.Duration) (context.Context, context.CancelFunc)
	withTimeoutCause  func(context.Context, time.Duration, error) (context.Context, context.CancelFunc)
	withValue         func(parent context.Context, key, value any) context.Context
	withoutCancel     func(context.Context) context.Context
	afterFunc         func(context.Context, func()) (stop func() bool)
	cause             func(context.Context) error
}

// standardMaker has the functions of the standard package.
var standardMaker = maker{
	context.WithCancel,
	context.WithCancelCause,
	context.WithDeadline,
	context.WithDeadlineCause,
	context.WithTimeout,
	context.WithTimeoutCause,
	context.WithValue,
	context.WithoutCancel,
	context.AfterFunc,
	context.Cause,
}

// foliotMaker has the functions of the package under test.
var foliotMaker = maker{
	dropctx.WithCancel,
	dropctx.WithCancelCause,
	dropctx.WithDeadline,
	dropctx.WithDeadlineCause,
	dropctx.WithTimeout,
	dropctx.WithTimeoutCause,
	dropctx.WithValue,
	dropctx.WithoutCancel,
	dropctx.AfterFunc,
	dropctx.Cause,
}

// rt is a runtime that has contexts of its own.
var rt = func() *foliot.Runtime {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		panic(err)
	}
	return rt
}()

// runtimeMaker has the functions of a runtime, and for the rest those of the standard package.
var runtimeMaker = func() maker {
	m := standardMaker
	m.withDeadline, m.withDeadlineCause = rt.WithDeadline, rt.WithDeadlineCause
	m.withTimeout, m.withTimeoutCause = rt.WithTimeout, rt.WithTimeoutCause
	return m
}()

// makers are the two makers of a tree. Each step of a program uses one of them.
type makers [2]*maker

var (
	allStandard = makers{&standardMaker, &standardMaker}
	allFoliot   = makers{&foliotMaker, &foliotMaker}
	mixed       = makers{&standardMaker, &foliotMaker}
	withRuntime = makers{&runtimeMaker, &foliotMaker}
)

// isStandard reports whether the type of ctx belongs to the standard package.
func isStandard(ctx context.Context) bool {
	t := reflect.TypeOf(ctx)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath() == "context"
}

// isDone reports whether Done of ctx is closed.
func isDone(ctx context.Context) bool { return isClosed(ctx.Done()) }

// isClosed reports whether a channel is closed. Nothing is ever sent to it.
func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
