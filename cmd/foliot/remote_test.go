package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/client"
)

// serverOf sets FOLIOT_SERVER to a server with a handler.
func serverOf(t *testing.T, h http.HandlerFunc) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	t.Setenv("FOLIOT_SERVER", server.URL)
}

func TestErrorsOfAServerSayWhatToDo(t *testing.T) {
	put := []string{"put", "a", "--after", "1h", "--kind", "k"}
	for _, c := range []struct {
		name   string
		status int
		args   []string
		exit   int
		want   string
	}{
		{"a wrong token", 401, []string{"get", "a"}, 1, "name the file with the token of the server with --token-file or FOLIOT_TOKEN_FILE"},
		{"no such timer", 404, []string{"get", "a"}, statusNotFound, `get timer "a": there is no timer with this ID: it is done or cancelled, or was never made; "foliot ls --dead" lists those that gave up (status 404)`},
		{"nothing to cancel", 404, []string{"cancel", "a"}, statusNotFound, `cancel timer "a": do it so`},
		{"a timer that is there", 412, append(put, "--if-absent"), statusConflict, `put timer "a": there is a timer with this ID; leave out --if-absent to replace it (status 412)`},
		{"another revision", 412, append(put, "--if-rev", "7"), statusConflict, `put timer "a": the timer does not have the revision of --if-rev; "foliot get" shows the timer if it is still there (status 412)`},
		{"another revision, cancelling", 412, []string{"cancel", "a", "--if-rev", "7"}, statusConflict, `cancel timer "a": the timer does not have the revision of --if-rev`},
		{"a bad request", 400, put, 1, "do it so (status 400)"},
		{"a broken server", 500, put, 1, `the change may or may not have been made: do it so (status 500); look with "foliot get"`},
		{"a broken server, reading", 500, []string{"ls"}, 1, "list timers: do it so (status 500)"},
		{"no listening", 403, []string{"tail"}, 1, "listen to fires: do it so (status 403)"},
		{"nothing to redrive", 404, []string{"redrive", "a"}, statusNotFound, `redrive timer "a": there is no dead timer with this ID; "foliot ls --dead" lists all (status 404)`},
		{"a timer in the way", 409, []string{"redrive", "a"}, statusConflict, `redrive timer "a": there is a timer with this ID; cancel it first with "foliot cancel"`},
		{"nothing to discard", 404, []string{"discard", "a"}, statusNotFound, `discard timer "a": there is no dead timer with this ID`},
		{"no dead timers", 403, []string{"ls", "--dead"}, 1, "list dead: do it so (status 403)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			serverOf(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(c.status)
				io.WriteString(w, `{"title":"No","detail":"do it so"}`)
			})
			out, _, err := run(t, t.Context(), c.args...)
			if out != "" {
				t.Errorf("output %q before the error", out)
			}
			var s statusError
			if !errors.As(err, &s) || s.status != c.exit || !strings.Contains(err.Error(), c.want) || strings.HasPrefix(err.Error(), "client: ") {
				t.Errorf("exit status %d, %v; want %d, %s", s.status, err, c.exit, c.want)
			}
		})
	}
}

func TestNoServerSaysHowToStartOne(t *testing.T) {
	t.Setenv("FOLIOT_SERVER", "http://127.0.0.1:1")
	_, _, err := run(t, t.Context(), "ls")
	if err == nil || !strings.Contains(err.Error(), `there is no server at http://127.0.0.1:1: start one with "foliot serve"`) || !errors.Is(err, client.ErrUnavailable) {
		t.Error(err)
	}
}

func TestAnErrorAfterRowsLeavesThem(t *testing.T) {
	serverOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("cursor") != "" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"timers":[{"id":"a","rev":8,"at":"2040-01-31T12:00:00Z","kind":"k"}],"next":"n"}`)
	})
	out, _, err := run(t, t.Context(), "ls")
	if err == nil || !strings.HasPrefix(out, "ID ") || !strings.Contains(out, "\na ") {
		t.Errorf("%q, %v", out, err)
	}
}

func TestTheFlagsOfPutAreSent(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FOLIOT_TOKEN_FILE", token)
	for _, c := range []struct {
		args []string
		body string
	}{
		{[]string{"--after", "90m", "--kind", "k", "--payload", `{"a":1}`}, `{"after":"1h30m0s","payload":{"a":1},"kind":"k"}`},
		{[]string{"--after", "0", "--kind", "k"}, `{"after":"1ns","kind":"k"}`},
		{[]string{"--at", "2040-01-31T12:00:00Z", "--webhook", "https://x.example", "--header", "X-A: b: c", "--header", "X-B:"}, `{"at":"2040-01-31T12:00:00Z","webhook":{"url":"https://x.example","headers":{"X-A":"b: c","X-B":""}}}`},
		{[]string{"--every", "1h", "--kind", "k", "--payload", `"<text>"`}, `{"every":"1h0m0s","payload":"<text>","kind":"k"}`},
		{[]string{"--cron", "0 3 * * *", "--tz", "Europe/Vienna", "--kind", "k"}, `{"cron":"0 3 * * *","tz":"Europe/Vienna","kind":"k"}`},
	} {
		serverOf(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if got := strings.TrimSpace(string(body)); got != c.body {
				t.Errorf("%q: %s, want %s", c.args, got, c.body)
			}
			if r.Header.Get("Authorization") != "Bearer s3cret" || r.Header.Get("If-Match") != `"7"` {
				t.Errorf("%q: headers %v", c.args, r.Header)
			}
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"id":"a","rev":8,"at":"2040-01-31T12:00:00Z"}`)
		})
		out, _, err := run(t, t.Context(), append([]string{"put", "a", "--if-rev", "7", "--json"}, c.args...)...)
		if want := `{"id":"a","rev":8,"at":"2040-01-31T12:00:00Z","created":false}` + "\n"; err != nil || out != want {
			t.Errorf("%q: %q, %v; want %q", c.args, out, err, want)
		}
	}
}

func TestDeadTimersAreChanged(t *testing.T) {
	for command, c := range map[string]struct{ request, text, json string }{
		"redrive": {"POST /v1/dead/a%2Fb/redrive", "redriven a/b\n", `{"id":"a/b","redriven":true}` + "\n"},
		"discard": {"DELETE /v1/dead/a%2Fb", "discarded a/b\n", `{"discarded":true,"id":"a/b"}` + "\n"},
	} {
		var requests []string
		serverOf(t, func(w http.ResponseWriter, r *http.Request) {
			requests = append(requests, r.Method+" "+r.URL.EscapedPath())
		})
		if out, _, err := run(t, t.Context(), command, "a/b"); err != nil || out != c.text {
			t.Errorf("%s: %q, %v", command, out, err)
		}
		if out, _, err := run(t, t.Context(), command, "a/b", "--json"); err != nil || out != c.json {
			t.Errorf("%s --json: %q, %v", command, out, err)
		}
		if want := []string{c.request, c.request}; !slices.Equal(requests, want) {
			t.Errorf("%s: requests %q, want %q", command, requests, want)
		}
	}
}

// A server cannot send characters that change the terminal.
func TestWhatAServerSendsIsPrintedVisibly(t *testing.T) {
	serverOf(t, func(w http.ResponseWriter, r *http.Request) {
		const timer = `{"id":"\u001b[2J","rev":8,"at":"2040-01-31T12:00:00Z","cron":"\u0007","webhook":{"url":"http://x\n","headers":{"A\t":"b"}},"payload":"\u007f"}`
		switch r.URL.Path {
		case "/v1/fires":
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "event: fire\ndata: {\"id\":\"\\u001b[2J\",\"kind\":\"\\n\",\"outcome\":\"\\t\"}\n\n")
		case "/v1/dead":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"dead":[{"id":"\u001b[2J","error":"\u001b]0;x"}]}`)
		case "/v1/timers":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"timers":[`+timer+`]}`)
		default:
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, timer)
		}
	})
	for _, args := range [][]string{{"get", "a"}, {"ls"}, {"ls", "--dead"}, {"tail", "-n", "1"}} {
		out, _, err := run(t, t.Context(), args...)
		if err != nil || strings.ContainsAny(out, "\x1b\x07\x7f\t") || !strings.Contains(out, `"\x1b[2J"`) {
			t.Errorf("%s: %q, %v", args, out, err)
		}
	}
}

func TestTailConnectsAgain(t *testing.T) {
	n := 0
	serverOf(t, func(w http.ResponseWriter, r *http.Request) {
		n++
		w.Header().Set("Content-Type", "text/event-stream")
		if n > 1 && r.Header.Get("Last-Event-ID") != strconv.Itoa(n-1) {
			t.Errorf("Last-Event-ID %q", r.Header.Get("Last-Event-ID"))
		}
		io.WriteString(w, map[int]string{
			1: "id: 1\nevent: fire\ndata: {\"id\":\"a\",\"attempt\":1,\"late_us\":1234,\"outcome\":\"done\",\"kind\":\"k\",\"payload\":{\"x\":1}}\n\n",
			2: "id: 2\nevent: fire\ndata: {\"id\":\"b\",\"attempt\":2,\"late_us\":90,\"outcome\":\"retry\",\"status\":503,\"payload\":{\"x\":2},\"error\":\"status\\t503\"}\n\nevent: missed\ndata: {\"from\":3,\"to\":90}\n\n",
			3: "id: 91\nevent: fire\ndata: {\"id\":\"c\",\"attempt\":1,\"late_us\":90,\"outcome\":\"dropped\"}\n\n",
		}[n])
	})
	out, errs, err := run(t, t.Context(), "tail", "--count", "3")
	want := "done     a  k  attempt 1  late 1.23ms  {\"x\":1}\nretry    b  webhook: 503  attempt 2  late 90µs  {\"x\":2}  \"status\\t503\"\ndropped  c  webhook  attempt 1  late 90µs  \n"
	if err != nil || out != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
	for _, want := range []string{
		"foliot: the connection is lost (",
		"foliot: events between the positions 3 and 90 may be missing: the server does not have them, perhaps because it was restarted.",
	} {
		if !strings.Contains(errs, want) {
			t.Errorf("standard error %q, want %q", errs, want)
		}
	}
	if strings.Contains(errs, "cannot connect") {
		t.Errorf("standard error %q after a connection", errs)
	}
}

func TestTailSaysThatItCannotConnect(t *testing.T) {
	t.Setenv("FOLIOT_SERVER", "http://127.0.0.1:1")
	_, errs, err := run(t, t.Context(), "tail")
	if err == nil || !strings.Contains(err.Error(), "there is no server at http://127.0.0.1:1") {
		t.Error(err)
	}
	if !strings.HasPrefix(errs, "foliot: cannot connect (") || strings.Contains(errs, "lost") {
		t.Errorf("standard error %q", errs)
	}
}

func TestAnInterruptEndsTail(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	serverOf(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		time.AfterFunc(10*time.Millisecond, cancel)
		<-r.Context().Done()
	})
	if _, _, err := run(t, ctx, "tail"); exitCode(err) != 130 {
		t.Errorf("%v, exit status %d", err, exitCode(err))
	}
}
