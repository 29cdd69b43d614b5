package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/foliot-go/foliot/cmd/internal/serve/webhook"
	"github.com/foliot-go/foliot/durable"
)

// A Config is what the flags of the command say.
type Config struct {
	Listen       string // address and port; port 0 means any
	Data         string // the folder that keeps the timers; empty with NATS
	NATS         string // addresses of servers of NATS that keep the timers, with commas between them; empty: Data does
	NATSCreds    string // file with the credentials for NATS; empty: there is none
	Replicas     int    // how many servers of NATS keep each timer
	TokenFile    string // empty: no token, and loopback only
	TLSCert      string
	TLSKey       string
	SecretFile   string // of the secrets that sign webhooks; empty: they are not signed
	WebhookAllow []string
	Concurrency  int
	Attempts     int
	RetryMin     time.Duration
	RetryMax     time.Duration
	Version      string
	Logger       *slog.Logger
	Ready        io.Writer     // gets the line that says that the server is ready
	webhookLimit time.Duration // how long a webhook may take, for tests; 0 means the default
	requestLimit time.Duration // how long a request may take to arrive, for tests; 0 means the default
	patience     time.Duration // how long a listener may take to read, for tests; 0 means the default
	beat         time.Duration // between two comments to idle listeners, for tests; 0 means the default
	stream       string        // the name of the stream in NATS, for tests; empty means the default
}

// setup is a Config that was checked, with what was read for it.
type setup struct {
	Config
	addr    *net.TCPAddr
	policy  *webhook.Policy
	secrets *secrets
}

const maxConcurrency = 10_000

// A UsageError says that the flags are wrong, whatever the files and the machine are like.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

func usageError(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// check checks the whole configuration and reads the files that it names.
func (c Config) check() (*setup, error) {
	s := &setup{Config: c}
	addr, err := net.ResolveTCPAddr("tcp", c.Listen)
	if err != nil {
		err = fmt.Errorf("--listen %s: write an address and a port, such as 127.0.0.1:7357: %w", c.Listen, err)
		if _, ok := errors.AsType[*net.DNSError](err); ok {
			return nil, err // the name may be known later
		}
		return nil, UsageError{err}
	}
	s.addr = addr
	loopback := addr.IP.IsLoopback()
	switch {
	case !loopback && c.TokenFile == "":
		return nil, usageError("--listen %s is open to other machines; name a file with a token by --token-file, or listen on 127.0.0.1", c.Listen)
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return nil, usageError("--tls-cert and --tls-key belong together; name both files or none")
	case c.Concurrency < 1 || c.Concurrency > maxConcurrency:
		return nil, usageError("--concurrency %d: it must be from 1 to %d", c.Concurrency, maxConcurrency)
	case c.Attempts < -1 || c.Attempts == 0:
		return nil, usageError("--attempts %d: it must be 1 or more, or -1 for any number", c.Attempts)
	case c.RetryMin <= 0:
		return nil, usageError("--retry-min %v: it must be more than 0", c.RetryMin)
	case c.RetryMax < c.RetryMin:
		return nil, usageError("--retry-max %v: it must be at least --retry-min, which is %v", c.RetryMax, c.RetryMin)
	case c.NATS != "" && c.Data != "":
		return nil, usageError("--nats and --data %s exclude each other; leave out one of them, or make FOLIOT_DATA empty", c.Data)
	case c.NATS == "" && c.NATSCreds != "":
		return nil, usageError("--nats-creds is for --nats; give both or none")
	}
	if c.NATS != "" {
		if err := c.checkNATS(); err != nil {
			return nil, err
		}
	}
	allow := c.WebhookAllow
	if loopback {
		allow = append(append([]string(nil), allow...), webhook.Loopback...)
	}
	if s.policy, err = webhook.NewPolicy(allow); err != nil {
		return nil, usageError("--webhook-allow: %v", err)
	}
	if s.secrets, err = readSecrets(c); err != nil {
		return nil, err
	}
	return s, nil
}

// warn logs what is allowed, but seldom wise.
func (s *setup) warn() {
	if s.secrets.token != nil && s.secrets.cert == nil && !s.addr.IP.IsLoopback() {
		s.Logger.Warn("serve: the token travels without TLS, and others on the network can read it; use --tls-cert and --tls-key, or a proxy with TLS in front")
	}
}

// retry returns the Retry of the scheduler.
func (c *Config) retry() durable.Retry {
	return durable.Retry{Min: c.RetryMin, Max: c.RetryMax, Attempts: c.Attempts}
}

// Check returns an error if a server with this configuration could not start. It listens on nothing and
// leaves nothing behind. The folder of the timers is not opened, so that a running server can have it open. With
// NATS it looks at what is there. Servers that cannot be reached are no error, because Run waits for them.
func Check(ctx context.Context, c Config) error {
	s, err := c.check()
	if err != nil {
		return err
	}
	s.warn()
	if s.NATS != "" {
		return lookAtNATS(ctx, &s.Config)
	}
	return checkFolder(s.Data)
}

// checkFolder returns an error if there is no folder with a name and none can be made, or if it cannot be written.
func checkFolder(dir string) error {
	if dir == "" {
		return usageError("--data is empty; name the folder that keeps the timers")
	}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("--data %s: %s is a file; name a folder", dir, at)
		case err == nil:
			return checkWritable(dir, at)
		case !errors.Is(err, os.ErrNotExist):
			return fmt.Errorf("--data %s: %w", dir, err)
		case at == filepath.Dir(at):
			return fmt.Errorf("--data %s: there is no such folder, and it cannot be made", dir)
		}
	}
}

// checkWritable returns an error if nothing can be made in a folder. It makes an empty folder there and removes it.
// The bits of the mode would not say it: a file system may be read-only, or not one for files.
func checkWritable(dir, at string) error {
	probe, err := os.MkdirTemp(at, ".foliot-check-")
	if err != nil {
		return fmt.Errorf("--data %s: %s cannot be written; give this user the right to write to it, or name another folder: %w", dir, at, err)
	}
	return os.Remove(probe)
}
