// Package serve is the server of foliot serve: timers by HTTP, which call back by webhooks and server-sent
// events. It is built on package durable: a timer that was accepted survives the process.
package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/net/netutil"

	"github.com/foliot-go/foliot/cmd/internal/serve/stream"
	"github.com/foliot-go/foliot/cmd/internal/serve/webhook"
	"github.com/foliot-go/foliot/durable"
)

// A server is one call of Run.
type server struct {
	cfg         Config
	log         *slog.Logger
	crossOrigin *http.CrossOriginProtection
	hub         *stream.Hub
	sender      *webhook.Sender
	metrics     *metrics

	secrets atomic.Pointer[secrets]           // replaced by a reload
	waits   atomic.Pointer[string]            // why the store is not open yet; nil: there is no special reason
	backend atomic.Pointer[backend]           // nil until the store is open. It is set before run
	run     atomic.Pointer[durable.Scheduler] // nil until the store is open
	ready   atomic.Bool                       // the timers are loaded
}

const (
	requestTimeout = time.Minute // for the header and the body of a request
	idleTimeout    = 2 * time.Minute
	writeTimeout   = 2 * time.Minute
	maxHeaderBytes = 64 << 10

	// drainTime is how long handlers may go on after the server was told to end: a webhook that was just
	// sent has its time.
	drainTime = 33 * time.Second

	// closeTime is how long requests may go on after the handlers have ended.
	closeTime = 5 * time.Second
)

// ErrForced is returned by Run after a second signal.
var ErrForced = errors.New("ended by a second signal; webhooks that were being sent will be sent again")

func newServer(s *setup) *server {
	srv := &server{
		cfg: s.Config, log: s.Logger,
		crossOrigin: http.NewCrossOriginProtection(),
		hub:         newHub(s.beat),
		sender: webhook.NewSender(webhook.Options{
			Policy: s.policy, Sends: s.Concurrency, Room: waitingRoom, Timeout: s.webhookLimit,
			UserAgent: "foliot/" + s.Version,
		}),
	}
	srv.use(s.secrets)
	srv.metrics = newMetrics(srv)
	return srv
}

// use makes secrets those of the server.
func (s *server) use(sec *secrets) {
	s.secrets.Store(sec)
	s.sender.SetSigner(sec.signer)
}

// scheduler returns the scheduler, or nil while the store is opened.
func (s *server) scheduler() *durable.Scheduler { return s.run.Load() }

// Run serves until ctx ends or a signal tells it to end. It returns nil after an orderly end.
func Run(ctx context.Context, c Config) error {
	set, err := c.check()
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	ln, err := listenTCP(set.addr)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("--listen %s: another program listens there; end that one, or choose another port: %w", c.Listen, err)
		}
		return fmt.Errorf("--listen %s: %w", c.Listen, err)
	}
	set.warn()
	s := newServer(set)
	defer s.hub.Close()
	if set.secrets.signer == nil {
		s.log.Info("serve: webhooks are not signed; --signing-secret-file names a file with a secret")
	}

	ctx, end := context.WithCancel(ctx)
	defer end()
	done := make(chan error, 1)
	go func() { done <- s.serve(ctx, ln) }()
	ending := false // by a signal; it does not say whether ctx has ended, which an interrupt may have done, too
	for {
		select {
		case err := <-done:
			return err
		case sig := <-signals:
			switch {
			case sig == syscall.SIGHUP:
				s.reload()
			case !ending:
				ending = true
				s.log.Info("serve: ending; a second signal ends at once", "signal", sig.String())
				end()
			default:
				return ErrForced
			}
		}
	}
}

// listenTCP listens on an address. With "tcp" the address 0.0.0.0 would mean those of IPv6, too.
func listenTCP(addr *net.TCPAddr) (*net.TCPListener, error) {
	network := "tcp"
	if addr.IP.To4() != nil {
		network = "tcp4"
	}
	return net.ListenTCP(network, addr)
}

// reload reads the files with secrets again. If one of them is not valid, all stay as they are.
func (s *server) reload() {
	sec, err := readSecrets(s.cfg)
	if err != nil {
		s.log.Error("serve: the files with secrets cannot be used; the old ones stay", "error", err)
		return
	}
	s.use(sec)
	s.log.Info("serve: the files with secrets were read again")
}

// httpServer returns the server of HTTP, with its limits.
func (s *server) httpServer() *http.Server {
	limit := requestTimeout
	if s.cfg.requestLimit != 0 {
		limit = s.cfg.requestLimit
	}
	h := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: limit,
		ReadTimeout:       limit,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,

		DisableGeneralOptionsHandler: true, // each request is guarded

		ErrorLog: slog.NewLogLogger(errorLog(s.log).Handler(), slog.LevelDebug),
	}
	if s.secrets.Load().cert != nil {
		h.TLSConfig = &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.secrets.Load().cert, nil },
		}
	}
	return h
}

// serve runs the server until ctx ends. Requests are accepted before the timers are loaded, so that /readyz
// can say how far that is.
func (s *server) serve(ctx context.Context, tcp *net.TCPListener) error {
	web := s.httpServer()
	ln := netutil.LimitListener(tcp, maxConnections())
	scheme := "http"
	failed := make(chan error, 2)
	if web.TLSConfig != nil {
		scheme = "https"
		go func() { failed <- web.ServeTLS(ln, "", "") }()
	} else {
		go func() { failed <- web.Serve(ln) }()
	}
	defer web.Close()

	back, err := openStore(ctx, &s.cfg, s.hub, s.metrics.lost.Inc, func(why string) { s.waits.Store(&why) })
	if err != nil {
		if ctx.Err() != nil {
			return nil // it has ended while it waited
		}
		return err
	}
	s.backend.Store(back)
	d, err := durable.New(back.store, durable.Options{
		Concurrency: s.cfg.Concurrency + waitingRoom,
		Retry:       s.cfg.retry(),
		Drain:       drainTime,
		Logger:      s.log,
	})
	if err != nil {
		return errors.Join(err, back.close())
	}
	s.handle(d)
	s.run.Store(d)
	running, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- d.Run(running) }()
	go s.awaitLoaded(running, d, scheme+"://"+tcp.Addr().String())

	select {
	case err = <-ended: // the store has failed
		return errors.Join(err, back.close())
	case err = <-failed:
		stop()
		return errors.Join(err, <-ended, back.close())
	case <-ctx.Done():
	}
	// No new connection is accepted from here on. Listeners stay until the handlers have ended, so that they
	// get what those publish.
	closing, cancel := context.WithTimeout(context.Background(), drainTime+closeTime)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- web.Shutdown(closing) }()
	stop()
	s.sender.Stop()
	if err = <-ended; err != nil {
		s.log.Error("serve: the scheduler did not end in order", "error", err)
	}
	flushing, flushed := context.WithTimeout(context.Background(), closeTime)
	back.events.flush(flushing)
	flushed()
	s.hub.Close()
	limit := time.AfterFunc(closeTime, cancel)
	defer limit.Stop()
	if err := <-closed; err != nil {
		s.log.Warn("serve: requests were cut off", "error", err)
	}
	_ = web.Close()
	return errors.Join(err, back.close())
}

// awaitLoaded waits until the timers are loaded, and says so.
func (s *server) awaitLoaded(ctx context.Context, d *durable.Scheduler, url string) {
	const look = 5 * time.Millisecond
	for tick := time.NewTicker(look); ; {
		if !d.Stats().Loading {
			tick.Stop()
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return
		}
	}
	s.metrics.add(d.Runtime())
	s.ready.Store(true)
	fmt.Fprintf(s.cfg.Ready, "foliot: serving on %s\n", url)
}
