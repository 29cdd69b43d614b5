package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

// A run checks itself. Tests below show that its checks can fail.
func TestExactlyTheSilentConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := run(t.Context(), strings.Fields("-conns 2000 -sockets 100 -timeout 1s"), &out)
	if errors.Is(err, errStalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		"the other 1900 are stand-ins",
		"exactly the 100 silent connections were closed",
		"the other 1900 were open to the end",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// newTestServer returns a server on the system clock, with the given timeout.
func newTestServer(t *testing.T, timeout time.Duration) *server {
	t.Helper()
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	srv := newServer(rt, timeout)
	t.Cleanup(func() {
		if err := errors.Join(srv.close(), closeRuntime(rt)); err != nil {
			t.Error(err)
		}
	})
	return srv
}

// runLoad runs a load with stand-ins on srv, which expects the given timeout.
func runLoad(t *testing.T, srv *server, timeout time.Duration, silent int) error {
	t.Helper()
	l := newLoad(nil, timeout, silent)
	l.standIn = srv.standIn
	return l.run(t.Context(), 100, 0)
}

func TestAServerThatClosesTooSoonIsReported(t *testing.T) {
	for _, silent := range []int{0, 100} {
		t.Run(fmt.Sprintf("%d%% silent", silent), func(t *testing.T) {
			t.Parallel()
			err := runLoad(t, newTestServer(t, 100*time.Millisecond), 10*time.Second, silent)
			if err == nil || !strings.Contains(err.Error(), "before its timeout of 10s") {
				t.Error(err)
			}
		})
	}
}

func TestALoadThatWasLateProvesNothing(t *testing.T) {
	l := newLoad(nil, time.Minute, 0)
	srv := newTestServer(t, time.Hour)
	p, err := srv.standIn()
	if err != nil {
		t.Fatal(err)
	}
	defer p.hangUp()
	ld := &loader{load: l}
	ld.ping(&talker{p, time.Now().Add(-2 * time.Minute)})
	if err := l.firstErr(); !errors.Is(err, errStalled) {
		t.Errorf("%v", err)
	}
}

func TestServerAndLoadMayBeSeparateProcesses(t *testing.T) {
	t.Parallel()
	srv := newTestServer(t, time.Second)
	addr, err := srv.listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = run(t.Context(), []string{"-load", addr.String(), "-conns", "100", "-timeout", "1s", "-silent", "10"}, &out)
	if errors.Is(err, errStalled) {
		t.Skip(err)
	}
	if err != nil || !strings.Contains(out.String(), "exactly the 10 silent connections were closed") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestAnInterruptEndsBothEnds(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"-conns 200 -timeout 1h", "-conns 200 -serve 127.0.0.1:0"} {
		ctx, cancel := context.WithCancel(t.Context())
		var out interrupter
		out.cancel = cancel
		err := run(ctx, strings.Fields(args), &out)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", args, err)
		}
		cancel()
	}
}

// interrupter is a terminal whose user interrupts the program after a few lines.
type interrupter struct {
	mu     sync.Mutex
	lines  int
	cancel context.CancelFunc
}

func (i *interrupter) Write(b []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.lines += strings.Count(string(b), "\n"); i.lines >= 2 {
		i.cancel()
	}
	return len(b), nil
}

func TestWithoutAServerTheLoadSaysSo(t *testing.T) {
	srv := newTestServer(t, time.Hour)
	addr, err := srv.listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv.close()
	err = run(t.Context(), []string{"-load", addr.String()}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "is there a server?") {
		t.Errorf("%v", err)
	}
}

func TestATakenAddressIsReported(t *testing.T) {
	srv := newTestServer(t, time.Hour)
	addr, err := srv.listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	err = run(t.Context(), []string{"-serve", addr.String(), "-conns", "10"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "choose another address") {
		t.Errorf("%v", err)
	}
}

func TestInvalidFlagsAreErrors(t *testing.T) {
	for _, args := range []string{
		"-conns 0", "-sockets -1", "-silent 101", "-timeout 1ms", "-serve :0 -load :0", "-no-such-flag", "extra",
	} {
		if err := run(t.Context(), strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}
