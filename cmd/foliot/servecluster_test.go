package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/client"
	"github.com/foliot-go/foliot/internal/natsserver"
)

// startNATS starts a NATS server, and returns the flags of foliot serve for it.
func startNATS(t *testing.T) []string {
	t.Helper()
	server := natsserver.ForTest(t, 1, natsserver.Options{})[0]
	return []string{"--data=", "--nats", server.URL(), "--replicas", "1"}
}

// A client behind a load balancer does not notice that a server is killed: it misses no event, and gets none
// twice.
func TestFiresGoOnAtAnotherServer(t *testing.T) {
	flags := startNATS(t)
	var servers []*serverProcess
	var to atomic.Pointer[url.URL]
	for range 2 {
		_, p := serveFor(t, flags...)
		servers = append(servers, p)
	}
	route := func(p *serverProcess) {
		u, err := url.Parse(p.url)
		if err != nil {
			t.Fatal(err)
		}
		to.Store(u)
	}
	route(servers[0])
	balancer := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to.Load()) },
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // a server is killed
	})
	c := clientOf(t, balancer.URL, "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer balancer.Close()
	defer cancel()

	const n = 20
	timers := func(from, to int) (ts []client.Timer) {
		for i := from; i < to; i++ {
			ts = append(ts, client.Timer{ID: fmt.Sprint(i), After: time.Millisecond, Kind: "k"})
		}
		return ts
	}
	heard, events := make(map[string]bool), make(map[string]bool)
	_, err := listenUntil(ctx, c, client.FireQuery{Kind: "k"}, func(f client.Fire) bool {
		if events[f.EventID] {
			t.Errorf("event %s came twice", f.EventID)
		}
		events[f.EventID], heard[f.ID] = true, true
		if len(heard) == n/2 {
			route(servers[1])
			servers[0].kill()
			if err := putAll(ctx, c, timers(n/2, n)...); err != nil {
				t.Error(err)
				return true
			}
		}
		return len(heard) == n
	}, func() error { return putAll(ctx, c, timers(0, n/2)...) })
	if err != nil {
		t.Errorf("%v after %v", err, heard)
	}
	if err := servers[1].stop(); err != nil {
		t.Error(err)
	}
}
