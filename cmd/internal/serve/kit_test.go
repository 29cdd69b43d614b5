package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// A testServer is a server with its own port. Its timers are in a folder, or on NATS below TestOnNATS.
type testServer struct {
	t   testing.TB
	s   *server
	url string
	log *syncBuffer
	end func() error // ends the server and returns its error
}

// A syncBuffer is a buffer that several goroutines use.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// testConfig returns a configuration for tests.
func testConfig(t testing.TB) (Config, *syncBuffer) {
	log := &syncBuffer{}
	c := Config{
		Listen: "127.0.0.1:0", Concurrency: 16, Attempts: 3,
		RetryMin: 20 * time.Millisecond, RetryMax: 50 * time.Millisecond, Version: "test",
		Logger: slog.New(slog.NewTextHandler(log, nil)), Ready: log,
	}
	newPlace(t)(&c)
	return c, log
}

// A place sets where a server keeps its timers. Servers with the same place have the same timers.
type place func(c *Config)

// newPlace returns a place that no other test has.
func newPlace(t testing.TB) place {
	if strings.HasPrefix(t.Name(), "TestOnNATS/") {
		return newNATSPlace(t)
	}
	dir := t.TempDir()
	return func(c *Config) { c.Data = dir }
}

// start starts a server, and waits until it is ready.
func start(t testing.TB, change func(c *Config)) *testServer {
	t.Helper()
	ts := launch(t, change)
	eventually(t, func() bool { return ts.s.ready.Load() })
	return ts
}

// launch starts a server.
func launch(t testing.TB, change func(c *Config)) *testServer {
	t.Helper()
	c, log := testConfig(t)
	if change != nil {
		change(&c)
	}
	set, err := c.check()
	if err != nil {
		t.Fatal(err)
	}
	ln, err := listenTCP(set.addr)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(set)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.serve(ctx, ln) }()
	end := sync.OnceValue(func() error {
		cancel()
		defer s.hub.Close()
		return <-done
	})
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Errorf("the server ended with: %v", err)
		}
		if t.Failed() {
			t.Logf("the log of the server:\n%s", log)
		}
	})
	scheme := "http"
	if set.secrets.cert != nil {
		scheme = "https"
	}
	return &testServer{t, s, scheme + "://" + ln.Addr().String(), log, end}
}

// eventually waits until a condition holds.
func eventually(t testing.TB, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the condition does not hold after 20 s")
		}
	}
}

// A reply is a response that was read.
type reply struct {
	status int
	header http.Header
	body   string
}

// do sends a request. Headers are pairs of name and value.
func (ts *testServer) do(method, path, body string, headers ...string) reply {
	ts.t.Helper()
	r, err := ts.try(method, path, body, headers...)
	if err != nil {
		ts.t.Fatal(err)
	}
	return r
}

func (ts *testServer) try(method, path, body string, headers ...string) (reply, error) {
	req, err := http.NewRequest(method, ts.url+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(text)}, err
}

// want fails the test if a reply has another status, or is an error and not a problem.
func (r reply) want(t *testing.T, status int) reply {
	t.Helper()
	if r.status != status {
		t.Fatalf("status %d, want %d: %s", r.status, status, r.body)
	}
	if status >= 400 {
		var p Problem
		if err := json.Unmarshal([]byte(r.body), &p); err != nil {
			t.Fatalf("%v: %s", err, r.body)
		}
		if ct := r.header.Get("Content-Type"); ct != "application/problem+json" || p.Status != status || p.Title == "" || len(p.Detail) < 10 {
			t.Fatalf("not a problem: %s %s", ct, r.body)
		}
	}
	return r
}

// into decodes the body.
func into[T any](t *testing.T, r reply) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
	return v
}

// A receiver is a server that gets webhooks.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	requests []received
}

type received struct {
	header http.Header
	host   string
	method string
	body   string
	at     time.Time
}

// receive starts a receiver. respond writes the response to the n-th request, which is the first one with 1;
// nil means status 200.
func receive(t *testing.T, respond func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	rc := &receiver{}
	rc.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		rc.mu.Lock()
		rc.requests = append(rc.requests, received{r.Header, r.Host, r.Method, string(body), time.Now()})
		n := len(rc.requests)
		rc.mu.Unlock()
		if respond != nil {
			respond(n, w, r)
		}
	}))
	t.Cleanup(rc.Close)
	return rc
}

func (rc *receiver) got() []received {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return append([]received(nil), rc.requests...)
}

// hook returns the body of a PUT for a webhook.
func hook(url, more string) string {
	return fmt.Sprintf(`{"after":"1ms","webhook":{"url":%q}%s}`, url, more)
}
