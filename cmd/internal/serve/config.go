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

// check checks the whole configuration and reads the files that it names.
func (c Config) check() (*setup, error) {
	s := &setup{Config: c}
	addr, err := net.ResolveTCPAddr("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: write an address and a port, such as 127.0.0.1:7357: %w", c.Listen, err)
	}
	s.addr = addr
	loopback := addr.IP.IsLoopback()
	switch {
	case !loopback && c.TokenFile == "":
		return nil, fmt.Errorf("--listen %s is open to other machines; name a file with a token by --token-file, or listen on 127.0.0.1", c.Listen)
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return nil, errors.New("--tls-cert and --tls-key belong together; name both files or none")
	case c.Concurrency < 1 || c.Concurrency > maxConcurrency:
		return nil, fmt.Errorf("--concurrency %d: it must be from 1 to %d", c.Concurrency, maxConcurrency)
	case c.Attempts < -1 || c.Attempts == 0:
		return nil, fmt.Errorf("--attempts %d: it must be 1 or more, or -1 for any number", c.Attempts)
	case c.RetryMin <= 0:
		return nil, fmt.Errorf("--retry-min %v: it must be more than 0", c.RetryMin)
	case c.RetryMax < c.RetryMin:
		return nil, fmt.Errorf("--retry-max %v: it must be at least --retry-min, which is %v", c.RetryMax, c.RetryMin)
	case c.NATS != "" && c.Data != "":
		return nil, fmt.Errorf("--nats and --data %s exclude each other; leave out one of them, or make FOLIOT_DATA empty", c.Data)
	case c.NATS == "" && c.NATSCreds != "":
		return nil, errors.New("--nats-creds is for --nats; give both or none")
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
		return nil, fmt.Errorf("--webhook-allow: %w", err)
	}
	if s.secrets, err = readSecrets(c); err != nil {
		return nil, err
	}
	return s, nil
}

// retry returns the Retry of the scheduler.
func (c *Config) retry() durable.Retry {
	return durable.Retry{Min: c.RetryMin, Max: c.RetryMax, Attempts: c.Attempts}
}

// Check returns an error if a server with this configuration could not start. It listens on nothing and
// changes nothing. The folder of the timers is not opened, so that a running server can have it open. With
// NATS it looks at what is there. Servers that cannot be reached are no error, because Run waits for them.
func Check(ctx context.Context, c Config) error {
	s, err := c.check()
	if err != nil {
		return err
	}
	if s.NATS != "" {
		return lookAtNATS(ctx, &s.Config)
	}
	return checkFolder(s.Data)
}

// checkFolder returns an error if there is no folder with a name and none can be made.
func checkFolder(dir string) error {
	if dir == "" {
		return errors.New("--data is empty; name the folder that keeps the timers")
	}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("--data %s: %s is a file; name a folder", dir, at)
		case err == nil:
			return nil
		case !errors.Is(err, os.ErrNotExist):
			return fmt.Errorf("--data %s: %w", dir, err)
		case at == filepath.Dir(at):
			return fmt.Errorf("--data %s: there is no such folder, and it cannot be made", dir)
		}
	}
}
