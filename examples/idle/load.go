package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

const (
	loaderCount = 16                    // number of goroutines among which the connections are divided
	pingPause   = 20 * time.Millisecond // pause of a loader between its pings
	noticeGrace = 30 * time.Second      // for the client to notice that the server has closed a connection
)

// errStalled says that a run proves nothing: the load generator itself was delayed for so
// long that the server was right to close connections that should have stayed open.
var errStalled = errors.New("this machine is too busy for such a -timeout; choose a longer one or fewer -conns")

// load holds connections to a server with an idle timeout. A few send nothing, and the
// server has to close them, but not before the timeout. All others send often enough, and
// have to stay open to the end.
type load struct {
	addrs     []string
	timeout   time.Duration
	tolerance time.Duration        // allowed error of the server's clock
	silent    int                  // percent
	standIn   func() (peer, error) // makes a stand-in when sockets run out; nil: make fewer connections
	onStage   func(name string)

	conns, sockets int // connections to make, and how many of them may have a socket

	opened      atomic.Int64   // number of connections, including stand-ins
	closed      atomic.Int64   // number of silent ones that the server has closed
	silentPeers sync.WaitGroup // a goroutine for each silent connection

	mu        sync.Mutex
	err       error // the first error
	socketErr error // why the system refused to make more sockets
}

func newLoad(addrs []string, timeout time.Duration, silent int) *load {
	return &load{addrs: addrs, timeout: timeout, silent: silent, onStage: func(string) {}}
}

// fail records an error, if it is the first.
func (l *load) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
}

func (l *load) firstErr() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// recordSocketErr records that the system refuses to make more sockets.
func (l *load) recordSocketErr(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.socketErr == nil {
		l.socketErr = err
	}
}

func (l *load) socketError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.socketErr
}

// summary describes a run without errors.
func (l *load) summary() string {
	var b strings.Builder
	if err := l.socketError(); err != nil {
		fmt.Fprintf(&b, "fewer sockets than planned: %v\n", err)
	}
	closed := l.closed.Load()
	fmt.Fprintf(&b, "ok: exactly the %d silent connections were closed, none before its %v had passed; the other %d were open to the end",
		closed, l.timeout, l.opened.Load()-closed)
	return b.String()
}

// isSocket reports whether connection i is to have a socket. Those that have are spread
// evenly.
func (l *load) isSocket(i int) bool {
	share := func(i int) int64 { return int64(i) * int64(l.sockets) / int64(l.conns) }
	return share(i+1) > share(i)
}

// isSilent reports whether connection i is to be silent, as l.silent of each hundred are.
// The pattern differs from that of isSocket: if every tenth connection has a socket, so
// should a tenth of the silent ones.
func (l *load) isSilent(i int) bool { return i%100*19%100 < l.silent }

// run goes through all stages with the given number of connections, of which at most
// sockets have a socket.
func (l *load) run(ctx context.Context, conns, sockets int) error {
	l.conns, l.sockets = conns, sockets
	all := make([]*loader, loaderCount)
	for i := range all {
		all[i] = &loader{load: l, first: i}
	}
	hangUp := sync.OnceFunc(func() {
		for _, ld := range all {
			ld.hangUp()
		}
	})
	// However this ends, the connections are closed. That also ends the goroutines that wait
	// for the server to close them.
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(ctx, hangUp)
	defer l.silentPeers.Wait()
	defer hangUp()
	defer cancel()
	each := func(f func(ld *loader)) error {
		var wg sync.WaitGroup
		for _, ld := range all {
			wg.Go(func() { f(ld) })
		}
		wg.Wait()
		if err := ctx.Err(); err != nil {
			return err
		}
		return l.firstErr()
	}

	l.onStage("connect")
	if err := each(func(ld *loader) { ld.connect(ctx) }); err != nil {
		return err
	}

	l.onStage("traffic")
	talking, stopTalking := context.WithTimeout(ctx, l.timeout+noticeGrace)
	defer stopTalking()
	l.silentPeers.Go(func() { foliot.Default().Sleep(ctx, l.timeout) }) // so that traffic lasts for the timeout even if no connection is silent
	go func() {
		l.silentPeers.Wait()
		stopTalking()
	}()
	if err := each(func(ld *loader) { ld.talk(talking) }); err != nil {
		return err
	}
	if errors.Is(talking.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("silent connections are still open %v after their timeout of %v (is that what the server uses?)", noticeGrace, l.timeout)
	}

	// Every connection has just sent a message, so nothing happens for a fraction of the
	// timeout: the timers are at rest.
	if err := each(func(ld *loader) { ld.pingAll() }); err != nil {
		return err
	}
	l.onStage("rest")
	if err := foliot.Default().Sleep(ctx, l.timeout/3); err != nil {
		return err
	}

	l.onStage("check")
	last := time.Now()
	if err := each(func(ld *loader) { ld.pingAll() }); err != nil {
		return err
	}
	hangUp()
	if time.Since(last) >= l.timeout {
		return errStalled
	}
	return l.firstErr()
}
