package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/foliot-go/foliot/cmd/internal/serve/stream"
	"github.com/foliot-go/foliot/durable/jetstream"
)

const (
	defaultStream = "FOLIOT"

	// openTimeout is how long NATS may take to open the streams before the log says that the server waits,
	// and loadTimeout how long the events may take that it has kept.
	openTimeout = 30 * time.Second
	loadTimeout = 5 * time.Minute

	waitNote   = 30 * time.Second // between two lines of the log while the server waits for NATS
	dialAgain  = time.Second      // between two attempts to connect at the start
	probeEvery = time.Second      // how old what /readyz says may be
	probeLimit = 2 * time.Second
)

// streamName returns the name of the stream of the timers.
func (c *Config) streamName() string {
	if c.stream != "" {
		return c.stream
	}
	return defaultStream
}

// checkNATS checks what the configuration says of NATS.
func (c *Config) checkNATS() error {
	if _, err := natsServers(c.NATS); err != nil {
		return UsageError{err}
	}
	switch c.Replicas {
	case 1, 3, 5:
	default:
		return usageError("--replicas %d: it must be 1, 3 or 5", c.Replicas)
	}
	if c.NATSCreds == "" {
		return nil
	}
	text, err := os.ReadFile(c.NATSCreds)
	if err != nil {
		return fmt.Errorf("--nats-creds: %w", err)
	}
	if !strings.Contains(string(text), "-----BEGIN NATS USER JWT-----") {
		return fmt.Errorf("--nats-creds %s: the file has no credentials of NATS; nsc and the tool nats make such files", c.NATSCreds)
	}
	return nil
}

// natsServers returns the addresses of the servers without users and passwords, for logs and errors. Its
// errors do not have an address in them.
func natsServers(addresses string) (shown string, err error) {
	var all []string
	for i, address := range strings.Split(addresses, ",") {
		address = strings.TrimSpace(address)
		if !strings.Contains(address, "://") {
			address = "nats://" + address
		}
		u, err := url.Parse(address)
		if err != nil || u.Hostname() == "" {
			return "", fmt.Errorf("--nats: address %d cannot be read; write nats://HOST:4222, with commas between several ones", i+1)
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return "", fmt.Errorf("--nats: address %d begins with %s://; it must be nats:// or tls://", i+1, u.Scheme)
		}
		all = append(all, u.Scheme+"://"+u.Host)
	}
	return strings.Join(all, ","), nil
}

// natsOptions returns how to connect. A connection that is lost is made again for as long as it takes.
func natsOptions(c *Config, log *slog.Logger) []nats.Option {
	opts := []nats.Option{
		nats.Name("foliot serve"),
		nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond), nats.ReconnectJitter(250*time.Millisecond, 250*time.Millisecond),
		nats.ReconnectBufSize(2 * maxPosted), // for posted events and changes of timers
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.IgnoreAuthErrorAbort(), // the file with credentials may be replaced
		nats.NoCallbacksAfterClientClose(),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			log.Warn("serve: the connection to NATS is lost; timers fire late until it is back", "error", err)
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			log.Info("serve: the connection to NATS is back", "server", nc.ConnectedAddr())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("serve: NATS reports an error", "error", err)
		}),
	}
	if c.NATSCreds != "" {
		opts = append(opts, nats.UserCredentials(c.NATSCreds))
	}
	return opts
}

// isAway reports whether an error of a connection says that there is no server now. Others, such as a wrong
// password, stay until the configuration is changed.
func isAway(err error) bool {
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, io.EOF) || os.IsTimeout(err)
}

// dial connects to NATS once.
func dial(c *Config) (*nats.Conn, error) {
	shown, err := natsServers(c.NATS)
	if err != nil {
		return nil, err
	}
	nc, err := nats.Connect(c.NATS, natsOptions(c, c.Logger)...)
	switch {
	case err == nil:
		return nc, nil
	case isAway(err):
		return nil, fmt.Errorf("NATS cannot be reached at %s: %w", shown, err)
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return nil, fmt.Errorf("--nats %s: NATS refuses the user; correct the password, or name a file with credentials by --nats-creds: %w", shown, err)
	}
	return nil, fmt.Errorf("--nats %s: %w", shown, err)
}

// openNATS opens the backend on NATS. It waits for servers that cannot be reached.
func openNATS(ctx context.Context, c *Config, hub *stream.Hub, lost func(), waits func(why string)) (*backend, error) {
	var noted time.Time
	wait := func(err error, why string) {
		waits(why)
		if time.Since(noted) > waitNote {
			noted = time.Now()
			c.Logger.Warn("serve: the server waits for NATS, and is not ready", "error", err)
		}
		pause(ctx, dialAgain)
	}
	nc, err := dial(c)
	for err != nil {
		if !isAway(err) {
			return nil, err
		}
		if wait(err, "NATS cannot be reached"); ctx.Err() != nil {
			return nil, ctx.Err()
		}
		nc, err = dial(c)
	}
	for {
		b, err := openStreams(ctx, c, nc, hub, lost)
		if err == nil {
			c.Logger.Info("serve: timers are on NATS; unless its servers have sync_interval: always, a loss of power may lose timers",
				"server", nc.ConnectedAddr(), "stream", c.streamName(), "replicas", c.Replicas)
			return b, nil
		}
		if !errors.Is(err, errWait) || ctx.Err() != nil {
			nc.Close()
			return nil, err
		}
		if wait(err, errWait.Error()); ctx.Err() != nil {
			nc.Close()
			return nil, ctx.Err()
		}
	}
}

// errWait is wrapped by an error that another attempt may not meet.
var errWait = errors.New("NATS does not respond")

// openStreams opens the streams once.
func openStreams(ctx context.Context, c *Config, nc *nats.Conn, hub *stream.Hub, lost func()) (*backend, error) {
	limited, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	failed := func(err error) (*backend, error) {
		if refused := nc.LastError(); errors.Is(refused, nats.ErrPermissionViolation) {
			return nil, fmt.Errorf("NATS refuses a permission that is needed; docs/cluster.md lists them: %w", refused)
		}
		if !errors.Is(err, errWait) && (limited.Err() != nil || !nc.IsConnected() || errors.Is(err, context.DeadlineExceeded)) {
			return nil, fmt.Errorf("%w: %w", errWait, err)
		}
		return nil, err
	}
	e, err := newNATSEvents(nc, c.streamName(), c.Replicas)
	if err != nil {
		return failed(err)
	}
	if err := e.open(limited, hub, lost); err != nil {
		e.close()
		return failed(err)
	}
	store, err := jetstream.Open(limited, nc, jetstream.Options{
		Stream: c.stream, Replicas: c.Replicas, Logger: c.Logger,
		Synced: true, // openNATS has a line for the log
	})
	if err != nil {
		e.close()
		return failed(err)
	}
	loading, loaded := context.WithTimeout(ctx, loadTimeout)
	defer loaded()
	if err := e.catchUp(loading); err != nil {
		e.close()
		return failed(errors.Join(err, store.Close()))
	}
	p := &natsProbe{nc: nc, store: store, log: c.Logger}
	return &backend{
		store:     store,
		events:    e,
		processes: func() int { return store.Stats().Processes },
		reachable: p.reachable,
		close: func() error {
			e.close()
			err := store.Close()
			nc.Close()
			return err
		},
	}, nil
}

// A natsProbe finds out whether the timers can be reached.
type natsProbe struct {
	nc    *nats.Conn
	store *jetstream.Store
	log   *slog.Logger

	mu  sync.Mutex // protects what follows; held while NATS is asked, so that one request does it for all
	at  time.Time
	err error
}

// What /readyz says has no addresses in it, because it needs no token. The log has more.
var (
	errNoConnection = errors.New("there is no connection to NATS")
	errSilent       = errors.New("the streams of NATS do not respond")
)

// reachable returns nil if the stream takes and delivers messages: reading a timer needs that.
func (p *natsProbe) reachable(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.at) < probeEvery {
		return p.err
	}
	before := p.err
	ctx, cancel := context.WithTimeout(context.Background(), probeLimit)
	defer cancel()
	_, _, err := p.store.Get(ctx, "foliot serve")
	switch {
	case err == nil:
		p.err = nil
	case p.nc.IsConnected():
		p.err = errSilent
		if before != errSilent {
			p.log.Warn("serve: the streams of NATS do not respond; timers fire late until they do", "error", err)
		}
	default:
		p.err = errNoConnection
	}
	if p.err == nil && before == errSilent {
		p.log.Info("serve: the streams of NATS respond again")
	}
	p.at = time.Now()
	return p.err
}

// lookAtNATS checks what can be checked of NATS without a change.
func lookAtNATS(ctx context.Context, c *Config) error {
	nc, err := dial(c)
	if err != nil {
		if isAway(err) {
			c.Logger.Warn("serve: the server would wait for NATS", "error", err)
			return nil
		}
		return err
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	e, err := newNATSEvents(nc, c.streamName(), c.Replicas)
	if err != nil {
		return err
	}
	for _, name := range []string{c.streamName(), e.name} {
		s, err := e.js.Stream(ctx, name)
		switch {
		case err == nil:
			if err := e.fits(s.CachedInfo()); err != nil {
				return err
			}
		case !errors.Is(err, natsjs.ErrStreamNotFound):
			return fmt.Errorf("--nats: the stream %s cannot be read; the servers need JetStream, and the user the permissions of docs/cluster.md: %w", name, errors.Join(err, nc.LastError()))
		case c.Replicas > 1 && nc.ConnectedClusterName() == "":
			return fmt.Errorf("--replicas %d: NATS has one server, which is not in a cluster. Start more, or give --replicas 1", c.Replicas)
		}
	}
	return nil
}
