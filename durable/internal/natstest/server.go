// Package natstest starts NATS servers with JetStream for tests: one server, or a cluster of three. Each is
// a real process with its own folder and ports. It can be killed, stopped and continued, and started again
// on the same folder and ports.
package natstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// Options say how servers are started. The zero Options are for most tests.
type Options struct {
	Binary string // empty means the one that Binary returns
	Sync   bool   // sync each message before it is acknowledged

	JetStream string // more lines for the jetstream block of the configuration
	Config    string // more lines for the configuration, such as users and permissions

	// Route returns the address under which one server of a cluster reaches another one: that of a
	// proxy, for example. The servers have the numbers 0 to n-1, and addr is the real address. nil means
	// addr.
	Route func(from, to int, addr string) string
}

// patience is how long the package waits for something that must happen.
const patience = 60 * time.Second

// A Server is a NATS server. Its methods are for one goroutine at a time.
type Server struct {
	Name        string
	Dir         string // the folder of the streams, the configuration and the log
	Addr        string // of clients: host and port
	ClusterAddr string // of other servers; empty if it is alone

	tb      testing.TB
	binary  string
	mu      sync.Mutex
	process *exec.Cmd     // nil: it does not run
	exited  chan struct{} // closed when the process has ended
	frozen  bool
}

// Start starts one server. It is killed at the end of the test.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	for try := 1; ; try++ {
		s := newServer(tb, o, "alone", tb.TempDir())
		s.configure(o, "")
		err := s.start()
		if err == nil {
			err = s.ready()
		}
		if err == nil {
			return s
		}
		s.Kill()
		if try == 5 {
			tb.Fatal(err)
		}
	}
}

func newServer(tb testing.TB, o Options, name, dir string) *Server {
	tb.Helper()
	s := &Server{Name: name, Dir: dir, Addr: freeAddr(tb), tb: tb, binary: o.Binary}
	if s.binary == "" {
		s.binary = Binary(tb)
	}
	tb.Cleanup(func() {
		s.Kill()
		if tb.Failed() {
			tb.Logf("the log of server %s ends with:\n%s", name, tail(s.Log(), 4<<10))
		}
	})
	return s
}

// freeAddr returns an address that was free a moment ago.
func freeAddr(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// configure writes the configuration. cluster is the block of the cluster.
func (s *Server) configure(o Options, cluster string) {
	s.tb.Helper()
	interval := "2m"
	if o.Sync {
		interval = "always"
	}
	config := fmt.Sprintf("server_name: %q\nlisten: %q\nlog_file: %q\njetstream {\n  store_dir: %q\n  sync_interval: %s\n%s\n}\n%s\n%s\n",
		s.Name, s.Addr, filepath.Join(s.Dir, "log"), filepath.Join(s.Dir, "store"), interval, o.JetStream, cluster, o.Config)
	if err := os.WriteFile(filepath.Join(s.Dir, "config"), []byte(config), 0o644); err != nil {
		s.tb.Fatal(err)
	}
}

// URL returns the address for nats.Connect.
func (s *Server) URL() string { return "nats://" + s.Addr }

// StoreDir returns the folder of the streams. A copy of it, made while the server does not run, is a backup.
func (s *Server) StoreDir() string { return filepath.Join(s.Dir, "store") }

// Log returns what the server has logged.
func (s *Server) Log() string {
	b, _ := os.ReadFile(filepath.Join(s.Dir, "log"))
	return string(b)
}

func tail(s string, n int) string { return s[max(len(s)-n, 0):] }

// start starts the process.
func (s *Server) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		return fmt.Errorf("natstest: server %s runs already", s.Name)
	}
	var out bytes.Buffer
	cmd := exec.Command(s.binary, "-c", filepath.Join(s.Dir, "config"))
	cmd.Stdout, cmd.Stderr = &out, &out
	EndWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	s.process, s.exited, s.frozen = cmd, exited, false
	return nil
}

// Restart starts the server again, on the same folder and ports, after Kill or Terminate. It returns when
// the server accepts connections. The streams may need more time to find their leaders.
func (s *Server) Restart() {
	s.tb.Helper()
	if err := s.start(); err != nil {
		s.tb.Fatal(err)
	}
	if err := s.listening(); err != nil {
		s.tb.Fatal(err)
	}
}

// Running reports whether the process runs. A frozen process does.
func (s *Server) Running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return false
	}
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

// Pid returns the number of the process.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return 0
	}
	return s.process.Process.Pid
}

// Kill ends the process at once, as kill -9 does, and waits for its end.
func (s *Server) Kill() { s.end(os.Kill) }

// Terminate ends the process in an orderly way, and waits for its end.
func (s *Server) Terminate() {
	s.Thaw()
	s.end(terminate)
}

func (s *Server) end(signal os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(signal)
	select {
	case <-s.exited:
	case <-time.After(patience):
		s.tb.Errorf("natstest: server %s does not end after %v", s.Name, signal)
		_ = s.process.Process.Kill()
		<-s.exited
	}
	s.process = nil
}

// Freeze stops the process as SIGSTOP does: its connections stay, and nothing moves.
func (s *Server) Freeze() {
	s.tb.Helper()
	s.signal(stopSignal)
	s.frozen = true
	s.awaitStop()
}

// awaitStop waits until the system has stopped the process, which takes a moment.
func (s *Server) awaitStop() {
	stat := fmt.Sprintf("/proc/%d/stat", s.Pid())
	for range 1000 {
		b, err := os.ReadFile(stat)
		if err != nil { // this system does not say it
			time.Sleep(50 * time.Millisecond)
			return
		}
		if _, state, _ := strings.Cut(string(b), ") "); strings.HasPrefix(state, "T") {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// Thaw continues a process that is frozen.
func (s *Server) Thaw() {
	s.tb.Helper()
	if s.frozen {
		s.signal(continueSignal)
		s.frozen = false
	}
}

func (s *Server) signal(signal os.Signal) {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		s.tb.Fatalf("natstest: server %s does not run", s.Name)
	}
	if err := s.process.Process.Signal(signal); err != nil {
		s.tb.Fatal(err)
	}
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

// listening waits until the server accepts connections.
func (s *Server) listening() error {
	end := time.Now().Add(patience)
	for time.Now().Before(end) {
		c, err := net.DialTimeout("tcp", s.Addr, time.Second)
		if err == nil {
			return c.Close()
		}
		select {
		case <-s.exited:
			return fmt.Errorf("natstest: server %s has ended:\n%s", s.Name, tail(s.Log(), 2<<10))
		case <-time.After(5 * time.Millisecond):
		}
	}
	return fmt.Errorf("natstest: server %s does not listen on %s after %v", s.Name, s.Addr, patience)
}

// ready waits until JetStream of the server accepts requests. A server that demands a password is ready
// when it listens.
func (s *Server) ready() error {
	if err := s.listening(); err != nil {
		return err
	}
	nc, err := nats.Connect(s.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if errors.Is(err, nats.ErrAuthorization) {
		return nil
	}
	if err != nil {
		return err
	}
	defer nc.Close()
	end := time.Now().Add(patience)
	for time.Now().Before(end) {
		var info struct {
			Error *struct{ Description string }
		}
		m, err := nc.Request("$JS.API.INFO", nil, time.Second)
		if err == nil {
			err = json.Unmarshal(m.Data, &info)
		}
		if err == nil && info.Error == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("natstest: JetStream of server %s is not ready after %v", s.Name, patience)
}

// A Cluster is some servers that replicate streams among them.
type Cluster struct {
	Servers []*Server
	tb      testing.TB
}

// StartCluster starts a cluster of n servers, and waits until JetStream accepts requests on each of them.
func StartCluster(tb testing.TB, n int, o Options) *Cluster {
	tb.Helper()
	for try := 1; ; try++ {
		c := &Cluster{tb: tb}
		dir := tb.TempDir()
		for i := range n {
			name := fmt.Sprintf("server%d", i)
			if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
				tb.Fatal(err)
			}
			s := newServer(tb, o, name, filepath.Join(dir, name))
			s.ClusterAddr = freeAddr(tb)
			c.Servers = append(c.Servers, s)
		}
		err := c.start(o)
		if err == nil {
			return c
		}
		for _, s := range c.Servers {
			s.Kill()
		}
		if try == 5 {
			tb.Fatal(err)
		}
	}
}

func (c *Cluster) start(o Options) error {
	for i, s := range c.Servers {
		var routes []string
		for j, other := range c.Servers {
			if i == j {
				continue
			}
			addr := other.ClusterAddr
			if o.Route != nil {
				addr = o.Route(i, j, addr)
			}
			routes = append(routes, fmt.Sprintf("%q", "nats://"+addr))
		}
		s.configure(o, fmt.Sprintf("cluster {\n  name: test\n  listen: %q\n  no_advertise: true\n  routes: [%s]\n}\n",
			s.ClusterAddr, strings.Join(routes, ", ")))
		if err := s.start(); err != nil {
			return err
		}
	}
	for _, s := range c.Servers {
		if err := s.ready(); err != nil {
			return err
		}
	}
	return nil
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
