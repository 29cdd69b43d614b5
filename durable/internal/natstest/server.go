// Package natstest starts NATS servers with JetStream for tests: one server, or a cluster of three. Each is
// a real process with its own folder and ports. It can be killed, stopped and continued, and started again
// on the same folder and ports. Package natsserver does the work; this one ends tests that cannot go on, and
// makes connections.
package natstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/internal/natsserver"
)

// Options say how servers are started. The zero Options are for most tests.
type Options = natsserver.Options

const patience = natsserver.Patience

// Binary returns the path of the NATS server, and builds it if that has not happened yet. It skips the test
// if that is not possible, because the tests are not in a checkout of the repository.
func Binary(tb testing.TB) string {
	tb.Helper()
	path, err := natsserver.Binary()
	if errors.Is(err, natsserver.ErrNoModule) {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// EndWithParent makes a process that is not started yet end when the test process does, also if that is
// killed, where the system can do that.
func EndWithParent(cmd *exec.Cmd) { natsserver.EndWithParent(cmd) }

// A Server is a NATS server. Its methods are for one goroutine at a time.
type Server struct {
	*natsserver.Server
	tb testing.TB
}

// Start starts one server. It is killed at the end of the test.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	if o.Binary == "" {
		o.Binary = Binary(tb)
	}
	s, err := natsserver.Start(tb.TempDir(), o)
	if err != nil {
		tb.Fatal(err)
	}
	return newServer(tb, s)
}

// newServer returns a server that is killed at the end of the test.
func newServer(tb testing.TB, started *natsserver.Server) *Server {
	s := &Server{started, tb}
	tb.Cleanup(func() {
		s.Kill()
		if tb.Failed() {
			log := s.Log()
			tb.Logf("the log of server %s ends with:\n%s", s.Name, log[max(len(log)-4<<10, 0):])
		}
	})
	return s
}

// must ends the test if there is an error.
func (s *Server) must(err error) {
	s.tb.Helper()
	if err != nil {
		s.tb.Fatal(err)
	}
}

// Restart starts the server again, on the same folder and ports, after Kill or Terminate. It returns when
// the server accepts connections. The streams may need more time to find their leaders.
func (s *Server) Restart() {
	s.tb.Helper()
	s.must(s.Server.Restart())
}

// Kill ends the process at once, as kill -9 does, and waits for its end.
func (s *Server) Kill() {
	s.tb.Helper()
	if err := s.Server.Kill(); err != nil {
		s.tb.Error(err)
	}
}

// Terminate ends the process in an orderly way, and waits for its end.
func (s *Server) Terminate() {
	s.tb.Helper()
	if err := s.Server.Terminate(); err != nil {
		s.tb.Error(err)
	}
}

// Freeze stops the process as SIGSTOP does: its connections stay, and nothing moves.
func (s *Server) Freeze() {
	s.tb.Helper()
	s.must(s.Server.Freeze())
}

// Thaw continues a process that is frozen.
func (s *Server) Thaw() {
	s.tb.Helper()
	s.must(s.Server.Thaw())
}

// Connect returns a connection that is made again whenever it is lost, and closed at the end of the test.
func (s *Server) Connect(opts ...nats.Option) *nats.Conn {
	s.tb.Helper()
	return connect(s.tb, s.URL(), opts...)
}

func connect(tb testing.TB, url string, opts ...nats.Option) *nats.Conn {
	tb.Helper()
	all := []nats.Option{
		nats.MaxReconnects(-1), nats.ReconnectWait(50 * time.Millisecond), nats.ReconnectJitter(50*time.Millisecond, 0),
		nats.IgnoreDiscoveredServers(), nats.RetryOnFailedConnect(true),
		nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // the default one prints
	}
	nc, err := nats.Connect(url, append(all, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}

// A Cluster is some servers that replicate streams among them.
type Cluster struct {
	Servers []*Server
	tb      testing.TB
}

// StartCluster starts a cluster of n servers, and waits until JetStream accepts requests on each of them.
func StartCluster(tb testing.TB, n int, o Options) *Cluster {
	tb.Helper()
	if o.Binary == "" {
		o.Binary = Binary(tb)
	}
	all, err := natsserver.StartCluster(tb.TempDir(), n, o)
	if err != nil {
		tb.Fatal(err)
	}
	c := &Cluster{tb: tb}
	for _, s := range all {
		c.Servers = append(c.Servers, newServer(tb, s))
	}
	return c
}

// URL returns the addresses of all servers for nats.Connect.
func (c *Cluster) URL() string {
	var urls []string
	for _, s := range c.Servers {
		urls = append(urls, s.URL())
	}
	return strings.Join(urls, ",")
}

// Connect returns a connection to one of the servers, which goes to another one if that ends. It is
// closed at the end of the test.
func (c *Cluster) Connect(opts ...nats.Option) *nats.Conn {
	c.tb.Helper()
	return connect(c.tb, c.URL(), opts...)
}

// Leader waits until a stream has a leader and returns it.
func (c *Cluster) Leader(stream string) *Server {
	c.tb.Helper()
	nc := c.Connect()
	defer nc.Close()
	end := time.Now().Add(patience)
	for time.Now().Before(end) {
		var info struct {
			Cluster struct{ Leader string }
		}
		m, err := nc.Request("$JS.API.STREAM.INFO."+stream, nil, time.Second)
		if err == nil {
			err = json.Unmarshal(m.Data, &info)
		}
		for _, s := range c.Servers {
			if err == nil && s.Name == info.Cluster.Leader {
				return s
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	c.tb.Fatalf("natstest: stream %s has no leader after %v", stream, patience)
	return nil
}

// StepDown makes the leader of a stream give way to another server.
func (c *Cluster) StepDown(stream string) {
	c.tb.Helper()
	nc := c.Connect()
	defer nc.Close()
	end := time.Now().Add(patience)
	for time.Now().Before(end) {
		m, err := nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil, 2*time.Second)
		if err == nil && bytes.Contains(m.Data, []byte(`"success":true`)) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	c.tb.Fatalf("natstest: the leader of stream %s does not step down", stream)
}
