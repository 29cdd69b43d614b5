package serve

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// The benchmarks run the server in this process, with a client and a receiver that cost little, so that a profile shows
// the server. go run ./lab/bench -run serve measures it in another process, beside bare net/http.

// benchPayload is the payload of a timer: JSON of 64 bytes.
var benchPayload = `"` + strings.Repeat("x", 62) + `"`

// skipMessage reads a message of HTTP/1.1 after its first line.
func skipMessage(r *bufio.Reader) error {
	length := 0
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			_, err := r.Discard(length)
			return err
		}
		if name, value, ok := bytes.Cut(line, []byte(": ")); ok && bytes.EqualFold(name, []byte("Content-Length")) {
			length, _ = strconv.Atoi(string(value))
		}
	}
}

// BenchmarkPut measures PUT requests of 64 clients, each synced.
func BenchmarkPut(b *testing.B) {
	ts := start(b, nil)
	host := strings.TrimPrefix(ts.url, "http://")
	var next atomic.Int64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			b.Error(err)
			return
		}
		defer conn.Close()
		r := bufio.NewReader(conn)
		body := `{"after":"1h","webhook":{"url":"http://127.0.0.1:9/order"},"payload":` + benchPayload + `}`
		var req []byte
		for pb.Next() {
			req = fmt.Appendf(req[:0], "PUT /v1/timers/order-%010d HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", next.Add(1), host, len(body), body)
			_, err := conn.Write(req)
			line, failed := r.ReadSlice('\n')
			if err != nil || failed != nil || !bytes.HasPrefix(line, []byte("HTTP/1.1 201")) || skipMessage(r) != nil {
				b.Errorf("%v, %v, %q", err, failed, line)
				return
			}
		}
	})
}

// hookReceivers starts receivers that respond to webhooks with status 200, and returns their addresses. They call got for
// each.
func hookReceivers(b *testing.B, n int, got func()) (urls []string) {
	var serving sync.WaitGroup
	b.Cleanup(serving.Wait)
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = ln.Close() })
		urls = append(urls, "http://"+ln.Addr().String()+"/")
		serving.Go(func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				b.Cleanup(func() { _ = conn.Close() })
				serving.Go(func() {
					r := bufio.NewReader(conn)
					for {
						if _, err := r.ReadSlice('\n'); err != nil || skipMessage(r) != nil {
							return
						}
						got()
						if _, err := conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")); err != nil {
							return
						}
					}
				})
			}
		})
	}
	return urls
}

// BenchmarkWebhook measures webhooks to ten receivers, all of them due.
func BenchmarkWebhook(b *testing.B) {
	ts := start(b, func(c *Config) { c.Concurrency = 64 })
	var left atomic.Int64
	left.Store(int64(b.N))
	all := make(chan struct{})
	urls := hookReceivers(b, 10, func() {
		if left.Add(-1) == 0 {
			close(all)
		}
	})
	d, at := ts.s.scheduler(), time.Now().Add(time.Second+time.Duration(b.N)*20*time.Microsecond)
	var batch []durable.Timer
	for i := range b.N {
		e := envelope{URL: urls[i%len(urls)] + strconv.Itoa(i), Payload: []byte(benchPayload)}
		payload, err := e.encode()
		if err != nil {
			b.Fatal(err)
		}
		batch = append(batch, durable.Timer{ID: strconv.Itoa(i), At: at, Kind: kindWebhook, Payload: payload})
		if len(batch) == maxBatch || i == b.N-1 {
			if _, err := d.ScheduleBatch(context.Background(), batch); err != nil {
				b.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	time.Sleep(time.Until(at))
	b.ReportAllocs()
	b.ResetTimer()
	<-all
}
