package serve

import (
	"bufio"
	"fmt"
	"net"
	"net/http/httputil"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// dialFires opens a stream by hand, with little memory, and reads the header of the response.
func dialFires(address string) (net.Conn, *bufio.Reader, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, nil, err
	}
	in := bufio.NewReaderSize(conn, 512)
	if _, err = fmt.Fprint(conn, "GET /v1/fires HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return conn, in, err
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil || line == "\r\n" {
			return conn, bufio.NewReaderSize(httputil.NewChunkedReader(in), 512), err
		}
	}
}

// Many listeners, some of which never read, do not stop timers, and those that read get each event. With
// FOLIOT_STRESS there are 10,000 of them.
func TestCrowdOfListeners(t *testing.T) {
	listeners, events := 1000, 100
	if os.Getenv("FOLIOT_STRESS") != "" {
		listeners = 10_000
	}
	if most := maxConnections() - 100; listeners > most/2 { // both ends of a connection are in this process
		t.Logf("%d listeners instead of %d: the process may open few files", most/2, listeners)
		listeners = most / 2
	}
	ts := start(t, nil)
	address := strings.TrimPrefix(ts.url, "http://")
	var wg sync.WaitGroup
	for i := range listeners {
		conn, in, err := dialFires(address)
		if err != nil {
			t.Fatalf("listener %d: %v", i, err)
		}
		defer conn.Close()
		if i%10 == 0 {
			continue // it never reads
		}
		wg.Go(func() {
			got := 0
			for got < events {
				line, err := in.ReadString('\n')
				if err != nil {
					t.Errorf("after %d events: %v", got, err)
					return
				}
				if strings.HasPrefix(line, "event: fire") {
					got++
				}
			}
		})
	}
	eventually(t, func() bool { return ts.s.hub.Listeners() == listeners })
	begin := time.Now()
	for i := range events {
		ts.do("PUT", fmt.Sprintf("/v1/timers/%d", i), `{"after":"5ms","kind":"k","payload":"0123456789"}`).want(t, 201)
	}
	eventually(t, func() bool { return ts.s.scheduler().Stats().Handled == uint64(events) })
	fired := time.Since(begin)
	wg.Wait()
	late := ts.s.scheduler().Stats().Late
	t.Logf("%d listeners: fired after %v, heard after %v; late by %v at the median, %v at most",
		listeners, fired.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond), late.Quantile(0.5), late.Max())
}
