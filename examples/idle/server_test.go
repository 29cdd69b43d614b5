package main

import (
	"net"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

// newManualServer returns a server on a manual clock, and its address.
func newManualServer(t *testing.T, timeout time.Duration) (*server, *foliot.ManualClock, string) {
	t.Helper()
	clock := foliot.NewManualClock(time.Now())
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	srv := newServer(rt, timeout)
	addr, err := srv.listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.close(); err != nil {
			t.Error(err)
		}
		if err := closeRuntime(rt); err != nil {
			t.Error(err)
		}
	})
	return srv, clock, addr.String()
}

// connect returns a connection whose timeout the server has just pushed back. The deadline
// on the connection ends a test if the server does nothing.
func connect(t *testing.T, addr string) peer {
	t.Helper()
	p, err := dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.hangUp)
	if err := p.(socket).SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := p.ping(); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEachReadPushesTheTimeoutBack(t *testing.T) {
	srv, clock, addr := newManualServer(t, time.Minute)
	p := connect(t, addr)
	for range 10 {
		clock.Advance(59 * time.Second)
		if err := p.ping(); err != nil {
			t.Fatal(err)
		}
	}
	if n := srv.closedIdle.Load(); n != 0 {
		t.Errorf("%d connections closed", n)
	}
}

func TestOnlyTheSilentConnectionIsClosed(t *testing.T) {
	srv, clock, addr := newManualServer(t, time.Minute)
	silent, other := connect(t, addr), connect(t, addr)
	clock.Advance(30 * time.Second)
	if err := other.ping(); err != nil {
		t.Fatal(err)
	}
	clock.Advance(31 * time.Second)
	if err := silent.wait(); err != nil {
		t.Errorf("the silent connection: %v", err)
	}
	if err := other.ping(); err != nil {
		t.Errorf("the other one: %v", err)
	}
	if n := srv.closedIdle.Load(); n != 1 {
		t.Errorf("%d connections closed for idleness", n)
	}
}

func TestAConnectionThatNeverSpeaksIsClosed(t *testing.T) {
	_, clock, addr := newManualServer(t, time.Minute)
	p, err := dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer p.hangUp()
	closed := make(chan error, 1)
	go func() { closed <- p.wait() }()
	for { // the server arms the timer at some time after Dial
		select {
		case err := <-closed:
			if err != nil {
				t.Error(err)
			}
			return
		case <-time.After(time.Millisecond):
			clock.Advance(time.Minute)
		}
	}
}

func TestAClientThatHangsUpIsNotIdle(t *testing.T) {
	srv, clock, addr := newManualServer(t, time.Minute)
	p := connect(t, addr)
	p.hangUp()
	for range 30_000 {
		if srv.sockets() == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	clock.Advance(time.Hour)
	if s := srv.rt.Stats(); s.Armed != 0 || s.Slots != 0 || srv.closedIdle.Load() != 0 {
		t.Errorf("%d armed, %d slots, %d closed for idleness", s.Armed, s.Slots, srv.closedIdle.Load())
	}
}

func TestAClientThatTakesNothingIsClosed(t *testing.T) {
	srv, clock, addr := newManualServer(t, time.Minute)
	p := connect(t, addr).(socket)
	chunk := make([]byte, 1<<16)
	for { // until the server blocks in a write and the buffers in between are full
		if err := p.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Write(chunk); err != nil {
			break
		}
	}
	clock.Advance(2 * time.Minute)
	if n := srv.closedIdle.Load(); n != 1 {
		t.Errorf("%d connections closed for idleness", n)
	}
}

func TestCloseEndsConnectionsAndFreesTheirTimers(t *testing.T) {
	srv, _, addr := newManualServer(t, time.Minute)
	p := connect(t, addr)
	if err := srv.close(); err != nil {
		t.Error(err)
	}
	if err := p.ping(); err == nil {
		t.Error("the connection is still open")
	}
	if armed := srv.rt.Stats().Armed; armed != 0 || srv.closedIdle.Load() != 0 {
		t.Errorf("%d armed, %d closed for idleness", armed, srv.closedIdle.Load())
	}
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("the listener is still open")
	}
}

func TestAStandInTimesOutLikeAConnection(t *testing.T) {
	srv, clock, _ := newManualServer(t, time.Minute)
	silent, err := srv.standIn()
	if err != nil {
		t.Fatal(err)
	}
	other, err := srv.standIn()
	if err != nil {
		t.Fatal(err)
	}
	defer silent.hangUp()
	defer other.hangUp()
	clock.Advance(30 * time.Second)
	if err := other.ping(); err != nil {
		t.Fatal(err)
	}
	clock.Advance(31 * time.Second)
	if err := silent.wait(); err != nil || silent.ping() == nil {
		t.Errorf("the silent one: %v", err)
	}
	if err := other.ping(); err != nil {
		t.Errorf("the other one: %v", err)
	}
	if n := srv.closedIdle.Load(); n != 1 || srv.openStandIns.Load() != 1 {
		t.Errorf("%d closed for idleness, %d open", n, srv.openStandIns.Load())
	}
}

func TestATimeoutOfAClosedConnectionDoesNotCount(t *testing.T) {
	srv, clock, _ := newManualServer(t, time.Minute)
	p, err := srv.standIn()
	if err != nil {
		t.Fatal(err)
	}
	defer p.hangUp()
	if err := p.(*standIn).Close(); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Hour) // the timer is not freed yet
	if fired, n := srv.rt.Stats().Fired, srv.closedIdle.Load(); fired != 1 || n != 0 {
		t.Errorf("%d timeouts ran, %d connections closed for idleness", fired, n)
	}
}
