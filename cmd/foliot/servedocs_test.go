package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A shellExample is a block of shell commands in a page.
type shellExample struct {
	page string // its path
	line int    // of its begin
	text string
}

// shellExamples returns the blocks of a page, which has this path, that are marked as sh.
func shellExamples(path, page string) (found []shellExample) {
	inside := false
	n := 0
	for line := range strings.Lines(page) {
		n++
		switch text := strings.TrimSpace(line); {
		case inside && text == "```":
			inside = false
		case inside:
			found[len(found)-1].text += line
		case text == "```sh":
			inside = true
			found = append(found, shellExample{page: path, line: n + 1})
		}
	}
	return found
}

var statusComment = regexp.MustCompile(`#.*\b([45]\d\d)\b`)

// failures returns the statuses from 400 on that comments of an example announce, as in "# 412".
func (e *shellExample) failures() (statuses []string) {
	for _, m := range statusComment.FindAllStringSubmatch(e.text, -1) {
		statuses = append(statuses, m[1])
	}
	return statuses
}

// A witness is a server between the examples and foliot serve. It remembers the requests and their statuses.
type witness struct {
	proxy *httputil.ReverseProxy

	mu       sync.Mutex // protects the fields below
	requests map[string]bool
	failures []string
}

var (
	timerPathPattern = regexp.MustCompile(`^/v1/timers/[^/]+$`)
	deadPathPattern  = regexp.MustCompile(`^/v1/dead/[^/]+(/redrive)?$`)
)

func newWitness(to *url.URL) *witness {
	w := &witness{requests: map[string]bool{}}
	w.proxy = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			path := timerPathPattern.ReplaceAllString(r.Request.URL.EscapedPath(), "/v1/timers/{id}")
			path = deadPathPattern.ReplaceAllString(path, "/v1/dead/{id}$1")
			w.mu.Lock()
			defer w.mu.Unlock()
			if r.StatusCode < 400 {
				w.requests[r.Request.Method+" "+path] = true
			} else {
				w.failures = append(w.failures, fmt.Sprint(r.StatusCode))
			}
			return nil
		},
	}
	return w
}

// takeFailures returns the statuses from 400 on since the last call.
func (w *witness) takeFailures() (statuses []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	statuses, w.failures = w.failures, nil
	return statuses
}

// curlScript is curl as the examples see it. It cannot hang, and a stream that it leaves is no failure.
const curlScript = `#!/bin/sh
"$REAL_CURL" --max-time 5 "$@"
status=$?
for arg; do
	case $arg in
	-*N* | --no-buffer) [ $status = 28 ] && exit 0 ;;
	esac
done
exit $status
`

// servePages are the pages about the server, whose examples are run in this order.
var servePages = []string{"serve.md", "serve-operations.md"}

// documented are the requests of which these pages must have an example that succeeds.
var documented = []string{
	"PUT /v1/timers/{id}", "GET /v1/timers/{id}", "DELETE /v1/timers/{id}", "POST /v1/timers", "GET /v1/timers", "GET /v1/fires",
	"GET /v1/dead", "POST /v1/dead/{id}/redrive", "DELETE /v1/dead/{id}",
	"GET /healthz", "GET /readyz", "GET /metrics", "GET /openapi.json",
}

// TestTheExamplesOfTheServerWork runs the shell examples of servePages one after the other, each in a shell, with a server
// whose address is $FOLIOT and whose token is $TOKEN. A webhook has one attempt. An example fails if a command fails, or if the
// server sends a status from 400 on that no comment of the example announces.
func TestTheExamplesOfTheServerWork(t *testing.T) {
	t.Parallel()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("there is no curl")
	}
	var examples []shellExample
	for _, name := range servePages {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, shellExamples("docs/"+name, string(page))...)
	}
	if len(examples) == 0 {
		t.Fatal("the pages have no examples")
	}
	folder := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		name = filepath.Join(folder, name)
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	const token = "example-token"
	tokenFile := write("token", token+"\n", 0o600)
	write("curl", curlScript, 0o700)
	p, err := startServer(folder, "--token-file", tokenFile, "--attempts", "1")
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(p.url)
	if err != nil {
		p.kill()
		t.Fatal(err)
	}
	w := newWitness(to)
	server := httptest.NewServer(w.proxy)
	defer server.Close()
	defer p.kill() // first, so that no stream is open

	for _, e := range examples {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", e.text)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(),
			"PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"), "REAL_CURL="+curl,
			"FOLIOT="+server.URL, "TOKEN="+token, "FOLIOT_SERVER="+server.URL, "FOLIOT_TOKEN_FILE="+tokenFile)
		out, err := cmd.CombinedOutput()
		cancel()
		if failures := w.takeFailures(); err != nil || !slices.Equal(failures, e.failures()) {
			t.Errorf("%s:%d: %v, statuses %q, want %q\n%s\n%s", e.page, e.line, err, failures, e.failures(), e.text, out)
		}
	}
	for _, request := range documented {
		if !w.requests[request] {
			t.Errorf("no page has an example of %s that succeeds", request)
		}
	}
}

func TestShellExamplesAreFound(t *testing.T) {
	const page = "# Title\n```go\nx := 1\n```\ntext\n```sh\ncurl a\ncurl b # 404: nothing is there\n```\n- item\n  ```sh\n  foliot ls\n  ```\n```\nno shell\n```\n"
	got := shellExamples("docs/a.md", page)
	want := []shellExample{{"docs/a.md", 7, "curl a\ncurl b # 404: nothing is there\n"}, {"docs/a.md", 12, "  foliot ls\n"}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if failures := got[0].failures(); !slices.Equal(failures, []string{"404"}) {
		t.Errorf("announced statuses %q", failures)
	}
}
