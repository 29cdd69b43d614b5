// Package natsserver starts NATS servers with JetStream for tests and benchmarks: one server, or a cluster.
// Each is a real process with its own folder and ports. It can be killed, stopped and continued, and started
// again on the same folder and ports. A Proxy between them delays, holds back and loses what they send.
package natsserver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options say how servers are started. The zero Options are for most uses.
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

// Patience is how long the package waits for something that must happen.
const Patience = 60 * time.Second

// A Server is a NATS server. Its methods are for one goroutine at a time.
type Server struct {
	Name        string
	Dir         string // the folder of the streams, the configuration and the log
	Addr        string // of clients: host and port
	ClusterAddr string // of other servers; empty if it is alone

	binary  string
	mu      sync.Mutex
	process *exec.Cmd     // nil: it does not run
	exited  chan struct{} // closed when the process has ended
	frozen  bool
}

// Start starts one server with a folder, and waits until JetStream accepts requests.
func Start(dir string, o Options) (*Server, error) {
	all, err := start(dir, []string{"alone"}, o)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// StartCluster starts servers that replicate streams among them, in folders below dir, and waits until
// JetStream accepts requests on each of them. One server is no cluster.
func StartCluster(dir string, n int, o Options) ([]*Server, error) {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("server%d", i))
	}
	return start(dir, names, o)
}

// startTries is how often servers are started. Another process may take a port before a server does.
const startTries = 5

func start(dir string, names []string, o Options) (all []*Server, err error) {
	if o.Binary == "" {
		if o.Binary, err = Binary(); err != nil {
			return nil, err
		}
	}
	for try := range startTries {
		all, err = startOnce(filepath.Join(dir, fmt.Sprintf("try%d", try)), names, o)
		if err == nil {
			return all, nil
		}
		for _, s := range all {
			err = errors.Join(err, s.Kill())
		}
	}
	return nil, err
}

// startOnce starts servers. It also returns them if there is an error.
func startOnce(dir string, names []string, o Options) (all []*Server, err error) {
	for _, name := range names {
		s := &Server{Name: name, Dir: filepath.Join(dir, name), binary: o.Binary}
		if err := os.MkdirAll(s.Dir, 0o755); err != nil {
			return all, err
		}
		if s.Addr, err = freeAddr(); err != nil {
			return all, err
		}
		if len(names) > 1 {
			if s.ClusterAddr, err = freeAddr(); err != nil {
				return all, err
			}
		}
		all = append(all, s)
	}
	for i, s := range all {
		if err := s.configure(o, cluster(all, i, o)); err != nil {
			return all, err
		}
		if err := s.start(); err != nil {
			return all, err
		}
	}
	for _, s := range all {
		if err := s.ready(); err != nil {
			return all, err
		}
	}
	return all, nil
}

// freeAddr returns an address that was free a moment ago.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// cluster returns the block of the configuration that names the other servers. It is empty for a server that
// is alone.
func cluster(all []*Server, i int, o Options) string {
	if len(all) == 1 {
		return ""
	}
	var routes []string
	for j, other := range all {
		if i == j {
			continue
		}
		addr := other.ClusterAddr
		if o.Route != nil {
			addr = o.Route(i, j, addr)
		}
		routes = append(routes, fmt.Sprintf("%q", "nats://"+addr))
	}
	return fmt.Sprintf("cluster {\n  name: test\n  listen: %q\n  no_advertise: true\n  routes: [%s]\n}\n",
		all[i].ClusterAddr, strings.Join(routes, ", "))
}

// configure writes the configuration.
func (s *Server) configure(o Options, cluster string) error {
	interval := "2m"
	if o.Sync {
		interval = "always"
	}
	config := fmt.Sprintf("server_name: %q\nlisten: %q\nlog_file: %q\njetstream {\n  store_dir: %q\n  sync_interval: %s\n%s\n}\n%s\n%s\n",
		s.Name, s.Addr, filepath.Join(s.Dir, "log"), s.StoreDir(), interval, o.JetStream, cluster, o.Config)
	return os.WriteFile(filepath.Join(s.Dir, "config"), []byte(config), 0o644)
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
		return fmt.Errorf("natsserver: server %s runs already", s.Name)
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
func (s *Server) Restart() error {
	if err := s.start(); err != nil {
		return err
	}
	return s.listening()
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

// Pid returns the number of the process, or 0 if it does not run.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return 0
	}
	return s.process.Process.Pid
}

// Kill ends the process at once, as kill -9 does, and waits for its end.
func (s *Server) Kill() error { return s.end(os.Kill) }

// Terminate ends the process in an orderly way, and waits for its end.
func (s *Server) Terminate() error {
	return errors.Join(s.Thaw(), s.end(terminate))
}

func (s *Server) end(signal os.Signal) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil
	}
	_ = s.process.Process.Signal(signal)
	select {
	case <-s.exited:
	case <-time.After(Patience):
		err = fmt.Errorf("natsserver: server %s does not end after %v", s.Name, signal)
		_ = s.process.Process.Kill()
		<-s.exited
	}
	s.process = nil
	return err
}

// Freeze stops the process as SIGSTOP does: its connections stay, and nothing moves.
func (s *Server) Freeze() error {
	s.frozen = true
	err := s.signal(stopSignal)
	if err == nil {
		s.awaitStop()
	}
	return err
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
func (s *Server) Thaw() error {
	if !s.frozen {
		return nil
	}
	s.frozen = false
	return s.signal(continueSignal)
}

func (s *Server) signal(signal os.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return fmt.Errorf("natsserver: server %s does not run", s.Name)
	}
	return s.process.Process.Signal(signal)
}

// listening waits until the server accepts connections.
func (s *Server) listening() error {
	end := time.Now().Add(Patience)
	for time.Now().Before(end) {
		c, err := net.DialTimeout("tcp", s.Addr, time.Second)
		if err == nil {
			return c.Close()
		}
		select {
		case <-s.exited:
			return fmt.Errorf("natsserver: server %s has ended:\n%s", s.Name, tail(s.Log(), 2<<10))
		case <-time.After(5 * time.Millisecond):
		}
	}
	return fmt.Errorf("natsserver: server %s does not listen on %s after %v", s.Name, s.Addr, Patience)
}

// ready waits until JetStream of the server accepts requests. A server that demands a password is ready
// when it listens.
func (s *Server) ready() error {
	if err := s.listening(); err != nil {
		return err
	}
	var err error
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = s.ask(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("natsserver: JetStream of server %s is not ready after %v: %w", s.Name, Patience, err)
}

// ask requests the information on JetStream by the protocol of clients, which is lines of text. It returns an
// error unless the server replies without one.
func (s *Server) ask() error {
	c, err := net.DialTimeout("tcp", s.Addr, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	in := bufio.NewReader(c)
	info, err := in.ReadString('\n')
	if err != nil || strings.Contains(info, `"auth_required":true`) {
		return err
	}
	const request = "CONNECT {\"verbose\":false}\r\nSUB reply 1\r\nPUB $JS.API.INFO reply 0\r\n\r\n"
	if _, err := io.WriteString(c, request); err != nil {
		return err
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		words := strings.Fields(line)
		if len(words) < 4 || words[0] != "MSG" {
			continue
		}
		n, err := strconv.Atoi(words[len(words)-1])
		if err != nil {
			return err
		}
		reply := make([]byte, n)
		if _, err := io.ReadFull(in, reply); err != nil {
			return err
		}
		if bytes.Contains(reply, []byte(`"error"`)) {
			return fmt.Errorf("%s", reply)
		}
		return nil
	}
}
