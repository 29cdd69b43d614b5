package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// start runs the program on a free port. It returns the addresses of the page and of the metrics,
// and a function that interrupts the program and waits for its end.
func start(t *testing.T) (page, metrics string, interrupt func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, "127.0.0.1:0", w) }()
	lines := bufio.NewScanner(r)
	address := func(name string) string {
		lines.Scan()
		url, ok := strings.CutPrefix(lines.Text(), name)
		if !ok {
			t.Fatalf("output %q, want the address of %q", lines.Text(), name)
		}
		return strings.TrimSpace(url)
	}
	page, metrics = address("live:"), address("metrics:")
	go io.Copy(io.Discard, r) // the log
	return page, metrics, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func open(t *testing.T, url string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %v, %v", url, resp, err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func get(t *testing.T, url string) string {
	t.Helper()
	text, err := io.ReadAll(open(t, url).Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPageAndMetricsShowLoad(t *testing.T) {
	page, metrics, interrupt := start(t)
	for url, want := range map[string]string{
		page: "<title>", page + "snapshot.json": `"network":`,
	} {
		if text := get(t, url); !strings.Contains(text, want) {
			t.Errorf("GET %s has no %s:\n%s", url, want, text)
		}
	}
	// Each of these is more than 0 after a while.
	for _, series := range []string{
		"foliot_timers_armed", "foliot_tasks", "foliot_queue_values", "foliot_timers_fired_total", "foliot_timers_stopped_total",
		"foliot_timers_rearmed_total", "foliot_task_polls_total", "foliot_timer_lateness_seconds_count",
	} {
		positive := regexp.MustCompile(`(?m)^` + series + `{runtime="network"} [1-9]`)
		for deadline := time.Now().Add(20 * time.Second); !positive.MatchString(get(t, metrics)); {
			if time.Now().After(deadline) {
				t.Fatalf("%s is not positive in\n%s", series, get(t, metrics))
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	// A page that is open has a request that does not end by itself. It must not delay the end.
	if _, err := open(t, page+"events").Body.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	interrupt()
}

func TestAddressInUse(t *testing.T) {
	page, _, interrupt := start(t)
	defer interrupt()
	address := strings.Split(page, "/")[2]
	if err := run(t.Context(), address, io.Discard); err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("run on an address in use: %v, want an error that names %s", err, address)
	}
}
