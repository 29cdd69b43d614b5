package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// bareServer is the floor of the scenario serve: a server of net/http that keeps nothing, and POST requests of an
// http.Client. The scenario starts it in a child process, by a flag that is not listed. bareServer prints its address on
// ready and serves until ctx ends.
func bareServer(ctx context.Context, ready io.Writer) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	sender := &bareSender{client: &http.Client{Transport: &http.Transport{MaxIdleConns: 2 * serveClients, MaxIdleConnsPerHost: serveClients}}}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /v1/timers/{id}", barePut)
	mux.HandleFunc("POST /send", sender.serve)
	web := &http.Server{Handler: mux}
	defer context.AfterFunc(ctx, func() { _ = web.Close() })()
	fmt.Fprintf(ready, "%s%s\n", readyLine, ln.Addr())
	if err := web.Serve(ln); ctx.Err() == nil {
		return err
	}
	return nil
}

// barePut reads the body and sends it back, which is about what a server of Foliot sends.
func barePut(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(body)
}

// bareWebhooks asks for POST requests.
type bareWebhooks struct {
	URLs []string // request i goes to URL i modulo their number, with the ID of timer First+i as the path
	First,
	N int
	Begin time.Time     // of the first one
	Step  time.Duration // between two of them; 0: all are due at Begin, and serveClients of them are sent at a time
}

// A bareSender sends POST requests as a program would that needs no timers to survive.
type bareSender struct{ client *http.Client }

// serve begins to send, and responds at once.
func (b *bareSender) serve(w http.ResponseWriter, r *http.Request) {
	var all bareWebhooks
	if err := json.NewDecoder(r.Body).Decode(&all); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	url := func(i int) string { return all.URLs[(all.First+i)%len(all.URLs)] + "/" + orderID(all.First+i) }
	if all.Step > 0 {
		for i := range all.N {
			time.AfterFunc(time.Until(all.Begin.Add(time.Duration(i)*all.Step)), func() { b.send(url(i)) })
		}
		return
	}
	time.AfterFunc(time.Until(all.Begin), func() {
		var next atomic.Int64
		var senders sync.WaitGroup
		for range serveClients {
			senders.Go(func() {
				for i := int(next.Add(1)) - 1; i < all.N; i = int(next.Add(1)) - 1 {
					b.send(url(i))
				}
			})
		}
	})
}

// send sends one request. The receiver notices if it fails: it does not arrive.
func (b *bareSender) send(url string) {
	now := time.Now()
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(servePayload))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Webhook-Id", "bare")
	req.Header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	resp, err := b.client.Do(req)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
}
