package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/foliot-go/foliot/client"
)

// The tests in this file run the client and its commands against "foliot serve", in a separate process.

// A serverProcess is a process of foliot serve.
type serverProcess struct {
	cmd *exec.Cmd
	url string
}

// startServer starts foliot serve in a folder, on a free port unless the arguments name one, and waits until it is ready.
func startServer(folder string, args ...string) (*serverProcess, error) {
	cmd := exec.Command("foliot", append([]string{"serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(folder, "foliot-data")}, args...)...)
	cmd.Dir = folder
	return startProcess(cmd)
}

// startProcess starts a command that is foliot serve, and waits until it is ready.
func startProcess(cmd *exec.Cmd) (*serverProcess, error) {
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &serverProcess{cmd: cmd}
	hurry := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer hurry.Stop()
	var log strings.Builder
	lines := bufio.NewScanner(stderr)
	for p.url == "" {
		if !lines.Scan() {
			p.kill()
			return nil, fmt.Errorf("foliot serve does not start:\n%s", log.String())
		}
		log.WriteString(lines.Text() + "\n")
		if url, ok := strings.CutPrefix(lines.Text(), "foliot: serving on "); ok {
			p.url = url
		}
	}
	go func() {
		for lines.Scan() { // so that the process can go on writing
		}
	}()
	return p, nil
}

func (p *serverProcess) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// stop ends the process in order.
func (p *serverProcess) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	hurry := time.AfterFunc(time.Minute, func() { p.cmd.Process.Kill() })
	defer hurry.Stop()
	return p.cmd.Wait()
}

// serveCommand is a command of the scripts: serve [flags] starts foliot serve and sets $FOLIOT_SERVER. It ends with the script.
func serveCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: serve [flags]")
	}
	p, err := startServer(ts.MkAbs("."), args...)
	ts.Check(err)
	ts.Defer(func() { ts.Check(p.stop()) })
	ts.Setenv("FOLIOT_SERVER", p.url)
}

// serveFor starts foliot serve for a test, and returns a client.
func serveFor(t *testing.T, args ...string) (*client.Client, *serverProcess) {
	t.Helper()
	p, err := startServer(t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return clientOf(t, p.url, ""), p
}

func clientOf(t *testing.T, url, token string) *client.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(url, client.Options{Token: token, HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var faraway = time.Date(2040, 1, 31, 12, 0, 0, 123456789, time.UTC)

func TestTheClientAndTheServerHaveTheSameTimers(t *testing.T) {
	c, _ := serveFor(t)
	if err := c.Ready(t.Context()); err != nil {
		t.Errorf("Ready: %v", err)
	}
	for _, want := range []client.Timer{
		{ID: "at", At: faraway, Kind: "k"},
		{ID: "payload", At: faraway, Kind: "k", Payload: json.RawMessage(`{"a":[1,2.50,null,"<ü>"]}`)},
		{ID: "null", At: faraway, Kind: "k", Payload: json.RawMessage(`null`)},
		{ID: "zone", At: faraway.In(time.FixedZone("", 5400)), Kind: "k"},
		{ID: "every", At: faraway, Every: 90 * time.Minute, Kind: "k"},
		{ID: "hook", At: faraway, Webhook: &client.Webhook{URL: "https://x.example/a?b=c", Headers: map[string]string{"X-A": "b"}}},
		{ID: "cron", At: faraway, Cron: "0 3 * * *", TZ: "Europe/Vienna", Kind: "k"},
		{ID: ".", At: faraway, Kind: "k"},
		{ID: "..", At: faraway, Kind: "k"},
		{ID: "a/b", At: faraway, Kind: "k"},
		{ID: "a//../b?c#d%2F ü+&;", At: faraway, Kind: "k"},
		{ID: strings.Repeat("x", 255), At: faraway, Kind: "k"},
	} {
		put, err := c.Put(t.Context(), want)
		if err != nil || !put.Created || !put.At.Equal(want.At) {
			t.Errorf("%s: %+v, %v", want.ID, put, err)
			continue
		}
		got, err := c.Get(t.Context(), want.ID)
		if err != nil || !got.At.Equal(want.At) {
			t.Errorf("%s: %v, %v", want.ID, got.At, err)
		}
		want.Rev, want.At = put.Rev, got.At
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", want.ID, got, want)
		}
		if put, err = c.Put(t.Context(), want, client.IfRev(put.Rev)); err != nil || put.Created || put.Rev <= want.Rev {
			t.Errorf("%s, replaced: %+v, %v", want.ID, put, err)
		}
		if _, err := c.Put(t.Context(), want, client.IfRev(want.Rev)); !errors.Is(err, client.ErrConflict) {
			t.Errorf("%s with an old revision: %v", want.ID, err)
		}
		if _, err := c.Put(t.Context(), want, client.IfAbsent()); !errors.Is(err, client.ErrConflict) {
			t.Errorf("%s if absent: %v", want.ID, err)
		}
		if err := c.Cancel(t.Context(), want.ID, client.IfRev(want.Rev)); !errors.Is(err, client.ErrConflict) {
			t.Errorf("%s cancelled with an old revision: %v", want.ID, err)
		}
		if err := c.Cancel(t.Context(), want.ID, client.IfRev(put.Rev)); err != nil {
			t.Errorf("%s cancelled: %v", want.ID, err)
		}
		if err := c.Cancel(t.Context(), want.ID); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%s cancelled twice: %v", want.ID, err)
		}
	}
	before := time.Now()
	put, err := c.Put(t.Context(), client.Timer{ID: "after", After: time.Hour, Kind: "k"})
	if due := put.At.Sub(before); err != nil || due < time.Hour || due > time.Hour+time.Minute {
		t.Errorf("after an hour: due in %v, %v", due, err)
	}
}

func TestTheServerRefusesWhatIsWrong(t *testing.T) {
	c, _ := serveFor(t)
	for name, timer := range map[string]client.Timer{
		"no time":           {ID: "a", Kind: "k"},
		"two times":         {ID: "a", Kind: "k", At: faraway, After: 1},
		"no receiver":       {ID: "a", At: faraway},
		"two receivers":     {ID: "a", At: faraway, Kind: "k", Webhook: &client.Webhook{URL: "https://x.example"}},
		"every and cron":    {ID: "a", Kind: "k", Every: time.Hour, Cron: "0 3 * * *"},
		"a control char":    {ID: "a\x01", At: faraway, Kind: "k"},
		"a long ID":         {ID: strings.Repeat("x", 256), At: faraway, Kind: "k"},
		"a wrong cron":      {ID: "a", Kind: "k", Cron: "daily"},
		"a wrong zone":      {ID: "a", Kind: "k", Cron: "0 3 * * *", TZ: "Mars"},
		"a wrong address":   {ID: "a", At: faraway, Webhook: &client.Webhook{URL: "ftp://x.example"}},
		"a header of its":   {ID: "a", At: faraway, Webhook: &client.Webhook{URL: "https://x.example", Headers: map[string]string{"Webhook-Id": "1"}}},
		"a negative period": {ID: "a", Kind: "k", Every: -time.Hour},
	} {
		_, err := c.Put(t.Context(), timer)
		var p *client.Problem
		if !errors.Is(err, client.ErrInvalid) || !errors.As(err, &p) || p.Title == "" || p.Detail == "" || errors.Is(err, client.ErrUncertain) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := c.Batch(t.Context(), []client.Timer{{ID: "fine", At: faraway, Kind: "k"}, timer}); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%s in a batch: %v", name, err)
		}
	}
	large := json.RawMessage(`"` + strings.Repeat("x", 65<<10) + `"`)
	if _, err := c.Put(t.Context(), client.Timer{ID: "a", At: faraway, Kind: "k", Payload: large}); !errors.Is(err, client.ErrTooLarge) {
		t.Errorf("a large payload: %v", err)
	}
	for timer, err := range c.List(t.Context(), client.Query{}) {
		t.Errorf("there is a timer %+v, %v", timer, err)
	}
}

func TestTheServerListsInPages(t *testing.T) {
	c, _ := serveFor(t)
	var batch []client.Timer
	for i := range 450 {
		batch = append(batch, client.Timer{ID: fmt.Sprintf("t%03d", i), At: faraway.Add(-time.Duration(i/3) * time.Minute), Kind: []string{"even", "odd"}[i%2]})
	}
	made, err := c.Batch(t.Context(), batch)
	if err != nil || len(made) != 450 || made[7].ID != "t007" || made[7].Rev == 0 {
		t.Fatalf("Batch: %d, %v", len(made), err)
	}
	list := func(q client.Query) (ids []string) {
		t.Helper()
		for timer, err := range c.List(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, timer.ID)
		}
		return ids
	}
	if ids := list(client.Query{}); len(ids) != 450 || !slices.IsSorted(ids) {
		t.Errorf("%d timers", len(ids))
	}
	byDue := list(client.Query{ByDue: true})
	if len(byDue) != 450 || !slices.Equal(byDue[:4], []string{"t447", "t448", "t449", "t444"}) {
		t.Errorf("by time: %d, %q", len(byDue), byDue[:min(4, len(byDue))])
	}
	if ids := list(client.Query{Limit: 201}); len(ids) != 201 {
		t.Errorf("limit 201: %d", len(ids))
	}
	if ids := list(client.Query{Prefix: "t10", Kind: "odd"}); !slices.Equal(ids, []string{"t101", "t103", "t105", "t107", "t109"}) {
		t.Errorf("prefix and kind: %q", ids)
	}
	// From is part of it, To is not. Nanoseconds count.
	at := faraway.Add(-time.Minute)
	if ids := list(client.Query{From: at, To: faraway}); !slices.Equal(ids, []string{"t003", "t004", "t005"}) {
		t.Errorf("from and to: %q", ids)
	}
	if ids := list(client.Query{From: at.Add(1), To: faraway}); len(ids) != 0 {
		t.Errorf("from after: %q", ids)
	}
}

func TestFiresComeWithTheirOutcomes(t *testing.T) {
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			w.WriteHeader(http.StatusGone)
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer hook.Close()
	c, _ := serveFor(t, "--attempts", "2", "--retry-min", "10ms", "--retry-max", "20ms")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []client.Fire
	heard, err := listenUntil(ctx, c, client.FireQuery{}, func(f client.Fire) bool {
		got = append(got, f)
		return len(got) == 5
	}, func() error {
		return errors.Join(
			putAll(ctx, c, client.Timer{ID: "event", After: 1, Kind: "k", Payload: json.RawMessage(`{"x":1}`)}),
			putAll(ctx, c, client.Timer{ID: "ok", After: 1, Webhook: &client.Webhook{URL: hook.URL + "/ok"}}),
			putAll(ctx, c, client.Timer{ID: "gone", After: 1, Webhook: &client.Webhook{URL: hook.URL + "/gone"}}),
			putAll(ctx, c, client.Timer{ID: "broken", After: 1, Webhook: &client.Webhook{URL: hook.URL + "/broken"}}))
	})
	if err != nil || heard != 5 {
		t.Fatalf("%d fires, %v", heard, err)
	}
	var lines []string
	for _, f := range got {
		lines = append(lines, fmt.Sprintf("%s %d %s %d %s %s", f.ID, f.Attempt, f.Outcome, f.Status, f.Kind, f.Payload))
		if f.Key != fmt.Sprintf("%s@%d", f.ID, f.Rev) || f.Late < 0 || f.EventID == "" {
			t.Errorf("%+v", f)
		}
	}
	slices.Sort(lines)
	want := []string{"broken 1 retry 500  ", "broken 2 dead 500  ", `event 1 done 0 k {"x":1}`, "gone 1 done 410  ", "ok 1 done 200  "}
	if !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}

	// What is dead is listed, armed again, and discarded.
	dead := func() (found []client.DeadTimer) {
		t.Helper()
		for d, err := range c.Dead(ctx, 0) {
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, d)
		}
		return found
	}
	for end := time.Now().Add(10 * time.Second); len(dead()) == 0 && time.Now().Before(end); { // the event comes just before
		time.Sleep(10 * time.Millisecond)
	}
	if found := dead(); len(found) != 1 || found[0].ID != "broken" || found[0].Attempts != 2 || !strings.Contains(found[0].Error, "500") || found[0].At.IsZero() || found[0].Key == "" {
		t.Errorf("dead: %+v", found)
	}
	if err := putAll(ctx, c, client.Timer{ID: "broken", At: faraway, Kind: "k"}); err != nil {
		t.Error(err)
	}
	if err := c.Redrive(ctx, "broken"); !errors.Is(err, client.ErrConflict) {
		t.Errorf("Redrive of an ID that is armed: %v", err)
	}
	if err := c.Cancel(ctx, "broken"); err != nil {
		t.Error(err)
	}
	if _, err := listenUntil(ctx, c, client.FireQuery{LastEventID: got[4].EventID}, func(f client.Fire) bool { return f.Outcome == client.Dead },
		func() error { return c.Redrive(ctx, "broken") }); err != nil {
		t.Errorf("Redrive: %v", err)
	}
	if err := c.Discard(ctx, "broken"); err != nil {
		t.Errorf("Discard: %v", err)
	}
	for name, err := range map[string]error{"Redrive": c.Redrive(ctx, "broken"), "Discard": c.Discard(ctx, "broken")} {
		if !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%s of none: %v", name, err)
		}
	}
	if found := dead(); len(found) != 0 {
		t.Errorf("dead: %+v", found)
	}
}

func putAll(ctx context.Context, c *client.Client, timers ...client.Timer) error {
	for _, t := range timers {
		if _, err := c.Put(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// listenUntil listens until enough returns true. It calls begin once the server has the connection, which a fire of a timer of
// listenUntil shows, or at once if it continues after an event.
func listenUntil(ctx context.Context, c *client.Client, q client.FireQuery, enough func(client.Fire) bool, begin func() error) (n int, err error) {
	const own = "listen-until"
	probing, stop := context.WithCancel(ctx)
	defer stop()
	if q.LastEventID != "" {
		stop()
		if err := begin(); err != nil {
			return 0, err
		}
	} else {
		go func() {
			for i := 0; probing.Err() == nil; i++ {
				putAll(probing, c, client.Timer{ID: fmt.Sprintf("%s-%d", own, i), After: 1, Kind: cmp.Or(q.Kind, "probe")})
				time.Sleep(20 * time.Millisecond)
			}
		}()
	}
	for f, err := range c.Fires(ctx, q) {
		switch {
		case err != nil:
			return n, err
		case strings.HasPrefix(f.ID, own):
			if probing.Err() == nil {
				stop()
				if err := begin(); err != nil {
					return n, err
				}
			}
		default:
			if n++; enough(f) {
				return n, nil
			}
		}
	}
	return n, errors.New("the loop has ended")
}

// A listener hears what fires after the server was killed and started again.
func TestFiresGoOnAfterTheServerWasKilled(t *testing.T) {
	folder := t.TempDir()
	p, err := startServer(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { p.kill() }()
	c := clientOf(t, p.url, "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	restarted := false
	_, err = listenUntil(ctx, c, client.FireQuery{Kind: "k"}, func(f client.Fire) bool {
		if f.ID == "after" {
			return true
		}
		if !restarted {
			restarted = true
			p.kill()
			again, err := startServer(folder, "--listen", strings.TrimPrefix(p.url, "http://"))
			if err != nil {
				t.Error(err)
				cancel()
				return true
			}
			p = again
			if err := putAll(ctx, c, client.Timer{ID: "after", After: 1, Kind: "k"}); err != nil {
				t.Error(err)
			}
		}
		return false
	}, func() error { return putAll(ctx, c, client.Timer{ID: "before", After: 1, Kind: "k"}) })
	if err != nil || !restarted {
		t.Errorf("%v, restarted: %t", err, restarted)
	}
}

func TestTheServerWantsItsToken(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, p := serveFor(t, "--token-file", token)
	for _, wrong := range []string{"", "s3cre", "s3cret2"} {
		c := clientOf(t, p.url, wrong)
		if _, err := c.Get(t.Context(), "a"); !errors.Is(err, client.ErrUnauthorized) {
			t.Errorf("token %q: %v", wrong, err)
		}
		for _, err := range c.Fires(t.Context(), client.FireQuery{}) {
			if !errors.Is(err, client.ErrUnauthorized) {
				t.Errorf("token %q: Fires: %v", wrong, err)
			}
		}
		if err := c.Ready(t.Context()); err != nil {
			t.Errorf("Ready needs no token: %v", err)
		}
	}
	if err := putAll(t.Context(), clientOf(t, p.url, "s3cret"), client.Timer{ID: "a", At: faraway, Kind: "k"}); err != nil {
		t.Error(err)
	}
}
