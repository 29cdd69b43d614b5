package serve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/client"
)

// strangeIDs are IDs that a server or a client may take for something else in a path.
var strangeIDs = []string{
	"/", "//", "///", "/a", "a/", "a/b", "a//b", ".", "..", "...", "./", "../", "/.", "/..", "./a", "../a", "../..", "a/../b", "a/./b",
	"%", "%%", "%2F", "%2f", "%2E%2E", "%zz", "%00", " ", "a b", " a ", "+", "a+b", "?", "?a=b", "a?b#c", "#", "&", "=", ";", ":", "@", "*",
	"a:b@c", "~", "!$&'()*+,;=", "[]{}|\\^`\"<>", "redrive", "a/redrive", "/redrive", "{id}", "v1/timers/a", "http://example.com/",
	"ü", "日本語", "🕰️", "e\u0301", "\u00a0", "\u202e", "\ufeff", "\ufffd", strings.Repeat("/", 255), strings.Repeat("ü", 127) + ".",
}

// escape percent-encodes each byte.
func escape(id string) string {
	var b strings.Builder
	for i := range len(id) {
		fmt.Fprintf(&b, "%%%02x", id[i])
	}
	return b.String()
}

// raw sends text over a connection and returns the first response. Nothing on the way changes the path.
func (ts *testServer) raw(text string) reply {
	ts.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(ts.url, "http://"))
	if err != nil {
		ts.t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		ts.t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		ts.t.Fatal(err)
	}
	method, _, _ := strings.Cut(text, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		ts.t.Fatalf("%.100q: %v", text, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		ts.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(body)}
}

// rawRequest returns the text of a request.
func rawRequest(method, path, body string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body)
}

func TestEachIDIsReachedByItsPath(t *testing.T) {
	ts := start(t, nil)
	body := `{"after":"1h","kind":"k"}`
	for _, id := range strangeIDs {
		path := "/v1/timers/" + escape(id)
		if got := into[Timer](t, ts.raw(rawRequest("PUT", path, body)).want(t, 201)).ID; got != id {
			t.Errorf("PUT %s: ID %q, want %q", path, got, id)
		}
	}
	for _, id := range strangeIDs { // each of them is another timer
		path := "/v1/timers/" + escape(id)
		if got := into[Timer](t, ts.raw(rawRequest("GET", path, "")).want(t, 200)).ID; got != id {
			t.Errorf("GET %s: ID %q, want %q", path, got, id)
		}
		ts.raw(rawRequest("HEAD", path, "")).want(t, 200)
		ts.raw(rawRequest("PATCH", path, "")).want(t, 405)
		ts.raw(rawRequest("DELETE", path, "")).want(t, 200)
		ts.raw(rawRequest("DELETE", path, "")).want(t, 404)
		ts.raw(rawRequest("POST", "/v1/dead/"+escape(id)+"/redrive", "")).want(t, 404)
		ts.raw(rawRequest("DELETE", "/v1/dead/"+escape(id), "")).want(t, 404)
	}
}

// A path is taken as it was sent. It is not cleaned, and there are no redirects.
func TestPathsAreTakenAsTheyAre(t *testing.T) {
	ts := start(t, nil)
	for path, id := range map[string]string{
		"/v1/timers/..": "..", "/v1/timers/.": ".", "/v1/timers/a%2Fü": "a/ü", "/v1/timers/a%2F\"": "a/\"", "/v1/%74imers/x": "x", "/v1/timers/%2F": "/",
		"http://localhost/v1/timers/%2F..": "/..", "/v1/timers/q?": "q",
	} {
		if got := into[Timer](t, ts.raw(rawRequest("PUT", path, `{"after":"1h","kind":"k"}`)).want(t, 201)).ID; got != id {
			t.Errorf("%s: ID %q, want %q", path, got, id)
		}
	}
	for _, path := range []string{
		"/v1/timers/", "/v1/timers//", "/v1/timers//a", "/v1/timers/a/", "/v1/timers/a/..", "/v1/timers/../timers", "//v1/timers", "/v1//timers", "/v1/./timers",
		"/v1/dead//redrive", "/v1/dead/a/redrive/", "/v1/dead/", "//", "/.", "/..", "/../healthz", "//healthz", "/healthz/", "/healthz/.", "/v1/timers%2Fa", "/%2Fv1/timers", "*",
		"//example.com/..", "http://localhost//healthz",
	} {
		for _, method := range []string{"GET", "PUT", "POST", "DELETE"} {
			ts.raw(rawRequest(method, path, "")).want(t, 404)
		}
	}
	ts.raw(rawRequest("OPTIONS", "*", "")).want(t, 404)
	ts.raw("CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n").want(t, 404)
}

// Package client reaches each ID, too.
func TestTheClientReachesEachID(t *testing.T) {
	ts := start(t, func(c *Config) { c.Attempts = 1 })
	c, err := client.New(ts.url, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, id := range strangeIDs {
		put, err := c.Put(ctx, client.Timer{ID: id, After: time.Hour, Kind: "k"}, client.IfAbsent())
		if err != nil || !put.Created {
			t.Fatalf("Put %q: %+v, %v", id, put, err)
		}
		if got, err := c.Get(ctx, id); err != nil || got.ID != id || got.Rev != put.Rev {
			t.Errorf("Get %q: %+v, %v", id, got, err)
		}
	}
	for _, id := range strangeIDs {
		if err := c.Cancel(ctx, id); err != nil {
			t.Error(err)
		}
		if _, err := c.Put(ctx, client.Timer{ID: id, After: time.Nanosecond, Webhook: &client.Webhook{URL: "http://127.0.0.1:1"}}); err != nil {
			t.Error(err)
		}
	}
	dead := func(n int) func() bool {
		return func() bool { return ts.s.scheduler().Stats().Dead == n }
	}
	eventually(t, dead(len(strangeIDs)))
	for _, id := range strangeIDs {
		if err := c.Redrive(ctx, id); err != nil {
			t.Error(err)
		}
	}
	eventually(t, func() bool { return ts.s.scheduler().Stats().Died == uint64(2*len(strangeIDs)) })
	eventually(t, dead(len(strangeIDs)))
	for _, id := range strangeIDs {
		if err := c.Discard(ctx, id); err != nil {
			t.Error(err)
		}
		if err := c.Discard(ctx, id); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("Discard %q again: %v", id, err)
		}
	}
	eventually(t, dead(0))
}
