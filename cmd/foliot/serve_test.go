//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A served is a process of foliot serve.
type served struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string
	log  *bytes.Buffer // complete when exited is closed
	err  error         // of the process, set when exited is closed
	exit chan struct{}
}

// startServe starts foliot serve on a free port, and waits for the line that says that it is ready.
func startServe(t *testing.T, env []string, args ...string) *served {
	t.Helper()
	cmd := exec.Command("foliot", append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Dir = t.TempDir()
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, cmd: cmd, log: &bytes.Buffer{}, exit: make(chan struct{})}
	ready := make(chan string, 1)
	go func() {
		defer close(s.exit)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			fmt.Fprintln(s.log, lines.Text())
			if url, ok := strings.CutPrefix(lines.Text(), "foliot: serving on "); ok {
				ready <- url
			}
		}
		s.err = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-s.exit
	})
	select {
	case s.url = <-ready:
	case <-s.exit:
		t.Fatalf("the server ended: %v\n%s", s.err, s.log)
	case <-time.After(30 * time.Second):
		t.Fatal("the server is not ready")
	}
	return s
}

// do sends a request and returns the status and the body.
func (s *served) do(method, path, body string, headers ...string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// signal sends a signal.
func (s *served) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// wait waits for the end of the process, and returns its exit status.
func (s *served) wait(limit time.Duration) int {
	s.t.Helper()
	select {
	case <-s.exit:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		s.t.Fatalf("the process runs after %v", limit)
		return 0
	}
}

// A counter counts webhooks by their IDs.
type counter struct {
	mu   sync.Mutex
	seen map[string]int
}

func (c *counter) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, _, _ := strings.Cut(r.Header.Get("webhook-id"), "@")
	c.seen[id]++
}

func (c *counter) distinct() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}

// Whatever was accepted fires, also if the process is killed again and again.
func TestServeLosesNothing(t *testing.T) {
	t.Parallel()
	t.Run("data", func(t *testing.T) {
		t.Parallel()
		testServeLosesNothing(t, []string{"FOLIOT_DATA=" + filepath.Join(t.TempDir(), "data")})
	})
	t.Run("nats", func(t *testing.T) {
		t.Parallel()
		testServeLosesNothing(t, nil, startNATS(t)...)
	})
}

func testServeLosesNothing(t *testing.T, env []string, flags ...string) {
	c := &counter{seen: make(map[string]int)}
	rc := httptest.NewServer(c)
	defer rc.Close()
	accepted := 0
	for round := range 4 {
		s := startServe(t, env, flags...)
		var wg sync.WaitGroup
		var mu sync.Mutex
		for worker := range 4 {
			wg.Go(func() {
				for i := range 1000 {
					id := fmt.Sprintf("%d-%d-%d", round, worker, i)
					body := fmt.Sprintf(`{"after":"%dms","webhook":{"url":%q}}`, i%400, rc.URL)
					req, err := http.NewRequest("PUT", s.url+"/v1/timers/"+id, strings.NewReader(body))
					if err != nil {
						return
					}
					resp, err := http.DefaultClient.Do(req)
					if err != nil {
						return // the process was killed
					}
					resp.Body.Close()
					if resp.StatusCode == 201 {
						mu.Lock()
						accepted++
						mu.Unlock()
					}
				}
			})
		}
		time.Sleep(300 * time.Millisecond)
		s.signal(syscall.SIGKILL)
		s.wait(10 * time.Second)
		wg.Wait()
	}
	s := startServe(t, append(env, "FOLIOT_LOG_FORMAT=json"), flags...)
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, body := s.do("GET", "/v1/timers?limit=1", ""); strings.TrimSpace(body) == `{"timers":[]}` {
			break
		}
		if time.Now().After(end) {
			t.Fatal("timers are left")
		}
	}
	if got := c.distinct(); got < accepted || accepted == 0 {
		t.Errorf("%d timers were accepted, %d have fired", accepted, got)
	}
	s.signal(syscall.SIGTERM)
	if code := s.wait(20 * time.Second); code != 0 {
		t.Errorf("exit status %d: %s", code, s.log)
	}
}

func TestServeEndsInOrder(t *testing.T) {
	called, answer := make(chan bool, 10), make(chan bool)
	rc := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the context does not end with the connection
		called <- true
		select {
		case <-answer:
		case <-r.Context().Done():
		}
	}))
	defer rc.Close()
	body := fmt.Sprintf(`{"after":"0s","webhook":{"url":%q}}`, rc.URL)
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		s := startServe(t, nil)
		s.do("PUT", "/v1/timers/a", body)
		<-called
		s.signal(sig)
		time.Sleep(100 * time.Millisecond) // the webhook runs, so the process does, too
		select {
		case <-s.exit:
			t.Fatalf("the process did not wait: %s", s.log)
		default:
		}
		answer <- true
		if code := s.wait(20 * time.Second); code != 0 {
			t.Errorf("exit status %d: %s", code, s.log)
		}
	}
	s := startServe(t, nil)
	s.do("PUT", "/v1/timers/a", body)
	<-called
	s.signal(syscall.SIGTERM)
	time.Sleep(100 * time.Millisecond)
	s.signal(syscall.SIGTERM)
	if code := s.wait(2 * time.Second); code != 1 || !strings.Contains(s.log.String(), "second signal") {
		t.Errorf("exit status %d: %s", code, s.log)
	}
	close(answer)
}

// TestServeRefusesAFolderInUse tests that two processes cannot have the same folder.
func TestServeRefusesAFolderInUse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "timers")
	startServe(t, nil, "--data", dir)
	out, err := exec.Command("foliot", "serve", "--listen", "127.0.0.1:0", "--data", dir).CombinedOutput()
	var exit *exec.ExitError
	want := "foliot: --data " + dir + ": another foliot uses this folder; end that one, or name another folder\n"
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.HasSuffix(string(out), want) {
		t.Errorf("%v: %s, want %s", err, out, want)
	}
}

func TestServeReloads(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	write := func(content string) {
		if err := os.WriteFile(token, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first-geheim")
	s := startServe(t, []string{"FOLIOT_TOKEN_FILE=" + token})
	status := func(token string) int {
		code, _ := s.do("GET", "/v1/timers", "", "Authorization", "Bearer "+token)
		return code
	}
	if status("first-geheim") != 200 || status("second-geheim") != 401 {
		t.Error("the first token does not count")
	}
	write("second-geheim")
	s.signal(syscall.SIGHUP)
	for end := time.Now().Add(10 * time.Second); status("second-geheim") != 200; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the second token does not count")
		}
	}
	if status("first-geheim") != 401 {
		t.Error("the first token still counts")
	}
	s.signal(syscall.SIGTERM)
	if s.wait(20 * time.Second); strings.Contains(s.log.String(), "geheim") {
		t.Errorf("a token is in the log: %s", s.log)
	}
}

// A receiver cannot write into the log: not by what it sends on a connection that is idle.
func TestServeLogsNothingOfReceivers(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	closed := make(chan bool, 1)
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		in := bufio.NewReader(conn)
		if _, err := http.ReadRequest(in); err != nil {
			return
		}
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		time.Sleep(100 * time.Millisecond) // the connection is idle
		fmt.Fprint(conn, "forged-line")
		_, _ = io.Copy(io.Discard, in)
		closed <- true
	}()
	s := startServe(t, nil, "--log-format", "json")
	s.do("PUT", "/v1/timers/a", fmt.Sprintf(`{"after":"0s","webhook":{"url":"http://%s"}}`, ln.Addr()))
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Fatal("the connection stays open")
	}
	s.signal(syscall.SIGTERM)
	if code := s.wait(20 * time.Second); code != 0 {
		t.Errorf("exit status %d", code)
	}
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, "forged-line") || !strings.HasPrefix(line, "{") && !strings.HasPrefix(line, "foliot: serving on ") {
			t.Errorf("the log has %s", line)
		}
	}
}
