package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// start runs the program with a free port. It returns the addresses of the page and of the metrics, and
// a function that ends the program and returns the rest of its output.
func start(t *testing.T, args string) (page, metrics string, end func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	result := make(chan error, 1)
	go func() {
		err := run(ctx, append(strings.Fields(args), "-listen", "127.0.0.1:0"), w)
		w.CloseWithError(err) // nil: the end of the output
		result <- err
	}()
	lines := bufio.NewReader(r)
	address := func(name string) string {
		line, err := lines.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, name) {
			t.Fatalf("%q, %v", line, err)
		}
		return strings.TrimSpace(strings.TrimPrefix(line, name))
	}
	page, metrics = address("live:"), address("metrics:")
	rest := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(lines)
		rest <- string(text)
	}()
	return page, metrics, func() string {
		cancel()
		text := <-rest
		if err := <-result; err != nil {
			t.Errorf("%v\n%s", err, text)
		}
		return text
	}
}

// get returns the body and the type of a page.
func get(t *testing.T, url string) (body, contentType string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, resp.Status, err)
	}
	return string(text), resp.Header.Get("Content-Type")
}

// value returns the value of a series in the text format.
func value(t *testing.T, metrics, series string) float64 {
	t.Helper()
	for line := range strings.Lines(metrics) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("there is no %s in\n%s", series, metrics)
	return 0
}

func TestTheMetricsShowTheLoad(t *testing.T) {
	_, url, end := start(t, "-connections 1000 -sessions 100 -requests 5000 -slow 30ms")
	want := map[string]float64{
		`foliot_timers_armed{runtime="network"}`:                     1000,
		`foliot_tasks{runtime="sessions"}`:                           100,
		`foliot_timers_fired_total{runtime="network"}`:               1,
		`foliot_timers_stopped_total{runtime="network"}`:             1,
		`foliot_timers_rearmed_total{runtime="network"}`:             1,
		`foliot_timer_lateness_seconds_count{runtime="network"}`:     1,
		`foliot_task_polls_total{runtime="sessions"}`:                1,
		`foliot_callback_duration_seconds_count{runtime="sessions"}`: 1,
		`foliot_queue_values{runtime="network"}`:                     1,
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		metrics, _ := get(t, url)
		var low []string
		for series, least := range want {
			if value(t, metrics, series) < least {
				low = append(low, series)
			}
		}
		if len(low) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still too low: %v", low)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if text := end(); !strings.Contains(text, "ended; ") {
		t.Errorf("the end is missing: %s", text)
	}
}

func TestThePageShowsBothRuntimes(t *testing.T) {
	page, _, end := start(t, "-connections 100 -sessions 10")
	body, kind := get(t, page)
	if !strings.HasPrefix(kind, "text/html") || !strings.Contains(body, "<title>") {
		t.Errorf("the page is %s:\n%s", kind, body)
	}
	snapshot, kind := get(t, page+"snapshot.json")
	if !strings.HasPrefix(kind, "application/json") || !strings.Contains(snapshot, `"network":`) || !strings.Contains(snapshot, `"sessions":`) {
		t.Errorf("the snapshot is %s:\n%s", kind, snapshot)
	}
	if home, _ := get(t, strings.TrimSuffix(page, "debug/foliot/")); home != body {
		t.Errorf("the address without a path has another page:\n%s", home)
	}
	end()
}

// A page that is open has a request that does not end by itself.
func TestAnOpenPageDoesNotHinderTheEnd(t *testing.T) {
	page, _, end := start(t, "-connections 100 -sessions 10")
	req, err := http.NewRequestWithContext(t.Context(), "GET", page+"events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	end()
}

func TestAnAddressInUseIsAnError(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = run(t.Context(), []string{"-listen", l.Addr().String()}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "use -listen for another address") {
		t.Error(err)
	}
}

func TestInvalidFlagsAreErrors(t *testing.T) {
	for _, args := range []string{
		"-connections 0", "-sessions -1", "-requests -1", "-requests 1000001", "-slow -1s", "-no-such-flag", "extra", "-listen nonsense",
	} {
		if err := run(t.Context(), strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}
