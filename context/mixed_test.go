package context_test

import (
	std "context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot/context"
)

// deriving has the ways to make a context below another that ends with it.
var deriving = map[string]func(std.Context) (std.Context, std.CancelFunc){
	"std.WithCancel":      std.WithCancel,
	"std.WithTimeout":     func(p std.Context) (std.Context, std.CancelFunc) { return std.WithTimeout(p, hour) },
	"context.WithCancel":  context.WithCancel,
	"context.WithTimeout": func(p std.Context) (std.Context, std.CancelFunc) { return context.WithTimeout(p, hour) },
	"context.WithTimeout beyond the parent's": func(p std.Context) (std.Context, std.CancelFunc) {
		return context.WithTimeout(p, 1000*hour)
	},
}

// eachBelow runs a test for each way to derive from each wrapper.
func eachBelow(t *testing.T, f func(t *testing.T, below func(std.Context) (std.Context, std.CancelFunc))) {
	for wrapName, wrap := range wrappers {
		for name, derive := range deriving {
			t.Run(name+" of "+wrapName, func(t *testing.T) {
				f(t, func(p std.Context) (std.Context, std.CancelFunc) { return derive(wrap(p)) })
			})
		}
	}
}

func TestContextsBelowEndBeforeCancelReturns(t *testing.T) {
	eachBelow(t, func(t *testing.T, below func(std.Context) (std.Context, std.CancelFunc)) {
		parent, cancel := context.WithTimeoutCause(std.Background(), hour, errTooSlow)
		child, cancelChild := below(parent)
		defer cancelChild()
		grandchild, cancelGrandchild := below(child)
		defer cancelGrandchild()
		done := grandchild.Done()
		wantLive(t, "child", child)
		cancel()
		select {
		case <-done:
		default:
			t.Error("the channel of the grandchild is still open")
		}
		wantEnded(t, "child", child, std.Canceled, std.Canceled)
		wantEnded(t, "grandchild", grandchild, std.Canceled, std.Canceled)
		after, cancelAfter := below(parent)
		defer cancelAfter()
		wantEnded(t, "child made afterwards", after, std.Canceled, std.Canceled)
	})
}

func TestContextsBelowEndAtTheDeadline(t *testing.T) {
	eachBelow(t, func(t *testing.T, below func(std.Context) (std.Context, std.CancelFunc)) {
		parent, cancel := context.WithTimeoutCause(std.Background(), 2*millisecond, errTooSlow)
		defer cancel()
		child, cancelChild := below(parent)
		defer cancelChild()
		grandchild, cancelGrandchild := below(child)
		defer cancelGrandchild()
		await(t, "grandchild", grandchild)
		wantEnded(t, "grandchild", grandchild, std.DeadlineExceeded, errTooSlow)
		await(t, "child", child)
		wantEnded(t, "child", child, std.DeadlineExceeded, errTooSlow)
		await(t, "parent", parent)
		wantEnded(t, "parent", parent, std.DeadlineExceeded, errTooSlow)
	})
}

func TestContextsBelowStandardOnesKnowOfTheEndAtOnce(t *testing.T) {
	eachBelow(t, func(t *testing.T, below func(std.Context) (std.Context, std.CancelFunc)) {
		parent, cancel := std.WithCancelCause(std.Background())
		child, cancelChild := below(parent)
		defer cancelChild()
		unwaited, cancelUnwaited := below(parent)
		defer cancelUnwaited()
		wantLive(t, "child", child)
		cancel(errGaveUp)
		wantEnded(t, "child", child, std.Canceled, errGaveUp)
		wantEnded(t, "child without a channel", unwaited, std.Canceled, errGaveUp)
	})
}

// A goroutine closes a channel that Done returned before the parent ended.
func TestChannelsBelowStandardOnesAreClosed(t *testing.T) {
	eachBelow(t, func(t *testing.T, below func(std.Context) (std.Context, std.CancelFunc)) {
		parent, cancel := std.WithCancelCause(std.Background())
		child, cancelChild := context.WithTimeout(parent, hour)
		defer cancelChild()
		grandchild, cancelGrandchild := below(child)
		defer cancelGrandchild()
		done := grandchild.Done()
		cancel(errGaveUp)
		select {
		case <-done:
		case <-time.After(patience):
			t.Fatal("the channel is open")
		}
		wantEnded(t, "grandchild", grandchild, std.Canceled, errGaveUp)
		wantEnded(t, "child", child, std.Canceled, errGaveUp)
	})
}

// A foreignCtx overrides Done and Err.
type foreignCtx struct {
	std.Context
	done chan struct{}
	mu   sync.Mutex
	err  error
}

func (c *foreignCtx) Done() <-chan struct{} { return c.done }

func (c *foreignCtx) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *foreignCtx) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	close(c.done)
}

func TestContextsBelowForeignOnesEndWithThem(t *testing.T) {
	errForeign := &failure{"an error that only this context has"}
	for name, wrap := range wrappers {
		above, cancelAbove := context.WithTimeout(std.Background(), hour) // must not be taken for the parent
		parent := &foreignCtx{Context: above, done: make(chan struct{})}
		child, cancelChild := context.WithTimeoutCause(wrap(parent), hour, errTooSlow)
		wantLive(t, name, child)
		parent.end(errForeign)
		await(t, name, child)
		wantEnded(t, name, child, errForeign, errForeign)
		wantLive(t, "above", above)
		cancelChild()
		cancelAbove()
	}
}

func TestWithoutCancelDoesNotPassOnTheEnd(t *testing.T) {
	parent, cancel := context.WithTimeoutCause(std.Background(), hour, errTooSlow)
	detached := context.WithoutCancel(std.WithValue(parent, testKey("k"), "v"))
	child, cancelChild := context.WithTimeout(detached, hour)
	defer cancelChild()
	cancel()
	if detached.Done() != nil || detached.Err() != nil || std.Cause(detached) != nil || detached.Value(testKey("k")) != "v" {
		t.Error("WithoutCancel passes on an end, or no value")
	}
	if _, ok := detached.Deadline(); ok {
		t.Error("a deadline without cancel")
	}
	wantLive(t, "a child of the detached one", child)
}

func TestAfterFuncRunsAfterTheEndUnlessStopped(t *testing.T) {
	for name, wrap := range wrappers {
		ctx, cancel := context.WithTimeout(std.Background(), hour)
		ran := make(chan error, 2)
		stopKept := context.AfterFunc(wrap(ctx), func() { ran <- ctx.Err() })
		stopped := context.AfterFunc(wrap(ctx), func() { t.Errorf("%s: ran after stop", name) })
		if !stopped() || stopped() {
			t.Errorf("%s: the first stop is true and no other", name)
		}
		cancel()
		if stopKept() {
			t.Errorf("%s: stopped what has started", name)
		}
		select {
		case err := <-ran:
			if err != std.Canceled {
				t.Errorf("%s: Err is %v in AfterFunc", name, err)
			}
		case <-time.After(patience):
			t.Fatalf("%s: AfterFunc has not run", name)
		}
	}
}

// No lock is held while the function runs.
func TestAfterFuncMayUseTheWholeTree(t *testing.T) {
	parent, cancel := context.WithTimeout(std.Background(), millisecond)
	child, cancelChild := context.WithCancel(parent)
	done := make(chan struct{})
	std.AfterFunc(child, func() {
		defer close(done)
		cancel()
		cancelChild()
		late, cancelLate := context.WithTimeout(child, hour)
		cancelLate()
		<-late.Done()
	})
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("stuck\n%s", stacks())
	}
}

func TestNoContextNeedsAGoroutine(t *testing.T) {
	root, cancelRoot := std.WithCancel(std.Background())
	goroutines, before := runtime.NumGoroutine(), watchers()
	var all []std.Context
	var cancels []std.CancelFunc
	for _, wrap := range wrappers {
		for _, derive := range deriving {
			for _, base := range []std.Context{std.Background(), root} {
				ctx, cancel := context.WithTimeout(wrap(base), hour)
				for range 3 {
					below, cancelBelow := derive(wrap(ctx))
					below.Done()
					all, cancels = append(all, below), append(cancels, cancelBelow)
					ctx = below
				}
				cancels = append(cancels, cancel)
			}
		}
	}
	if n := watchers(); n > before {
		t.Errorf("%d goroutines watch %d contexts", n-before, len(all))
	}
	if n := runtime.NumGoroutine(); n > goroutines+5 { // the runtime may have some
		t.Errorf("%d goroutines with %d contexts, %d before", n, len(all), goroutines)
	}
	cancelRoot()
	for _, cancel := range cancels {
		cancel()
	}
	for _, ctx := range all {
		await(t, "at the end", ctx)
	}
}

// The first error in a group of goroutines ends the others, as with errgroup.
func TestAGroupEndsWithItsFirstErrorOrAtTheDeadline(t *testing.T) {
	run := func(ctx std.Context, fail bool) error {
		ctx, cancel := std.WithCancelCause(ctx)
		defer cancel(nil)
		var members sync.WaitGroup
		for i := range 10 {
			members.Go(func() {
				if fail && i == 7 {
					cancel(errGaveUp)
				}
				<-ctx.Done()
			})
		}
		members.Wait()
		return std.Cause(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(std.Background(), 5*millisecond, errTooSlow)
	defer cancel()
	if err := run(ctx, false); err != errTooSlow {
		t.Errorf("the group ended with %v", err)
	}
	ctx, cancel = context.WithTimeoutCause(std.Background(), hour, errTooSlow)
	defer cancel()
	if err := run(ctx, true); err != errGaveUp {
		t.Errorf("the group ended with %v", err)
	}
	wantLive(t, "the context above the group", ctx)
}

func TestARequestEndsWithItsDeadline(t *testing.T) {
	gone := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			ctx, cancel := context.WithTimeout(r.Context(), hour)
			defer cancel()
			<-ctx.Done() // the client has hung up
			gone <- ctx.Err()
		}
	}))
	defer server.Close()
	get := func(path string, d time.Duration) error {
		ctx, cancel := context.WithTimeout(std.Background(), d)
		defer cancel()
		request, err := http.NewRequest("GET", server.URL+path, nil)
		if err != nil {
			return err
		}
		response, err := server.Client().Do(request.WithContext(ctx))
		if err == nil {
			err = response.Body.Close()
		}
		return err
	}
	if err := get("/", patience); err != nil {
		t.Errorf("a quick request: %v", err)
	}
	err := get("/slow", 100*millisecond)
	if late, ok := err.(interface{ Timeout() bool }); !ok || !late.Timeout() {
		t.Errorf("a slow request: %v", err)
	}
	select {
	case err := <-gone:
		if err != std.Canceled {
			t.Errorf("the handler's context ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("the handler's context has not ended")
	}
}

// A tellingCtx is a foreignCtx with an AfterFunc method, for one function.
type tellingCtx struct {
	foreignCtx
	tell func()
}

func (c *tellingCtx) AfterFunc(f func()) (stop func() bool) {
	c.tell = f
	return func() bool { return true }
}

func TestAForeignParentThatEndsWithoutAnErrorPanicsWithTheSameText(t *testing.T) {
	panicOf := func(with func(std.Context, time.Duration) (std.Context, std.CancelFunc)) (v any) {
		parent := &tellingCtx{foreignCtx: foreignCtx{Context: std.Background(), done: make(chan struct{})}}
		_, cancel := with(parent, hour)
		defer cancel()
		defer func() { v = recover() }()
		parent.end(nil)
		parent.tell()
		return nil
	}
	if want, got := panicOf(std.WithTimeout), panicOf(context.WithTimeout); want == nil || got != want {
		t.Errorf("panic %v, want %v", got, want)
	}
}
