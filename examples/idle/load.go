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
	loaders = 16                    // goroutines that share the connections
	pause   = 20 * time.Millisecond // between a loader's turns
	grace   = 30 * time.Second      // for a timeout to be noticed by the other end
)

// errStalled says that a run proves nothing: the load generator itself was held up for
// so long that the server was right to close connections that should have lived.
var errStalled = errors.New("this machine is too busy for such a -timeout; choose a longer one or fewer -conns")

// load holds connections to a server with an idle timeout. A few never send anything
// and have to be closed by the server, no earlier than after the timeout; all others
// send often enough and have to stay open to the end.
type load struct {
	addrs     []string
	timeout   time.Duration
	tolerance time.Duration        // for the server's clock
	silent    int                  // percent
	standIn   func() (peer, error) // what to use when sockets run out; nil: do without
	onStage   func(name string)

	conns, sockets int // to make, and how many of them real at most

	opened atomic.Int64   // connections and stand-ins
	closed atomic.Int64   // the silent ones of them that the server has closed
	quiet  sync.WaitGroup // a goroutine for each silent one

	mu      sync.Mutex
	err     error // the first thing that went wrong
	refused error // why the system gave no more sockets
}

func newLoad(addrs []string, timeout time.Duration, silent int) *load {
	return &load{addrs: addrs, timeout: timeout, silent: silent, onStage: func(string) {}}
}

// fail notes an error, unless an earlier one says it all.
func (l *load) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
}

func (l *load) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// refuse notes that it is no use to ask for more sockets.
func (l *load) refuse(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused == nil {
		l.refused = err
	}
}

func (l *load) refusal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// summary describes a run without errors.
func (l *load) summary() string {
	var b strings.Builder
	if err := l.refusal(); err != nil {
		fmt.Fprintf(&b, "fewer sockets than planned: %v\n", err)
	}
	closed := l.closed.Load()
	fmt.Fprintf(&b, "ok: exactly the %d silent connections were closed, none before its %v had passed; the other %d were open to the end",
		closed, l.timeout, l.opened.Load()-closed)
	return b.String()
}

// isSocket says whether connection i is to be a real one. These are spread evenly.
func (l *load) isSocket(i int) bool {
	share := func(i int) int64 { return int64(i) * int64(l.sockets) / int64(l.conns) }
	return share(i+1) > share(i)
}

// isSilent picks the silent ones, l.silent of each hundred, in another pattern than
// isSocket: when every tenth is real, a tenth of the silent ones should be.
func (l *load) isSilent(i int) bool { return i%100*19%100 < l.silent }

// run goes through the stages with that many connections, sockets of them real.
func (l *load) run(ctx context.Context, conns, sockets int) error {
	l.conns, l.sockets = conns, sockets
	all := make([]*loader, loaders)
	for i := range all {
		all[i] = &loader{load: l, first: i}
	}
	hangUp := sync.OnceFunc(func() {
		for _, ld := range all {
			ld.hangUp()
		}
	})
	// However this ends, the connections are closed, which also ends the goroutines that
	// wait for the server to do so.
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(ctx, hangUp)
	defer l.quiet.Wait()
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
		return l.failed()
	}

	l.onStage("connect")
	if err := each(func(ld *loader) { ld.connect(ctx) }); err != nil {
		return err
	}

	l.onStage("traffic")
	talking, stopTalking := context.WithTimeout(ctx, l.timeout+grace)
	defer stopTalking()
	l.quiet.Go(func() { foliot.Default().Sleep(ctx, l.timeout) }) // even if nobody is silent
	go func() {
		l.quiet.Wait()
		stopTalking()
	}()
	if err := each(func(ld *loader) { ld.talk(talking) }); err != nil {
		return err
	}
	if errors.Is(talking.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("silent connections are still open %v after their timeout of %v (is that what the server uses?)", grace, l.timeout)
	}

	// Everyone has just been heard of, so for a fraction of the timeout nothing happens:
	// the timers are at rest.
	if err := each(func(ld *loader) { ld.round() }); err != nil {
		return err
	}
	l.onStage("rest")
	if err := foliot.Default().Sleep(ctx, l.timeout/3); err != nil {
		return err
	}

	l.onStage("check")
	last := time.Now()
	if err := each(func(ld *loader) { ld.round() }); err != nil {
		return err
	}
	hangUp()
	if time.Since(last) >= l.timeout {
		return errStalled
	}
	return l.failed()
}
