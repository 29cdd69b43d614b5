package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// beCrowd opens streams of the server at an address. args are the number of streams, the number of events that
// each of them must get, and the number of streams of which one never reads. It prints a line when all are
// open, and one when each that reads has got its events. It ends with the standard input.
func beCrowd(address string, args []string) error {
	var listeners, events, lazy int
	if _, err := fmt.Sscan(strings.Join(args, " "), &listeners, &events, &lazy); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	failed := make(chan error, listeners)
	var all []*bufio.Reader // a connection that is collected is closed
	var wg sync.WaitGroup
	for i := range listeners {
		in, err := dialFires(address)
		if err != nil {
			return fmt.Errorf("listener %d: %w", i, err)
		}
		all = append(all, in)
		if i%lazy == 0 {
			continue
		}
		wg.Go(func() {
			if err := countFires(in, events); err != nil {
				failed <- fmt.Errorf("listener %d: %w", i, err)
			}
		})
	}
	fmt.Println("open")
	wg.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	fmt.Println("done")
	time.Sleep(time.Hour)
	runtime.KeepAlive(all)
	return nil
}

// dialFires opens a stream by hand, with little memory, and reads the header of the response.
func dialFires(address string) (*bufio.Reader, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(conn, 512)
	if _, err = fmt.Fprint(conn, "GET /v1/fires?kind=crowd HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return nil, err
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil || line == "\r\n" {
			return bufio.NewReaderSize(httputil.NewChunkedReader(in), 512), err
		}
	}
}

// countFires reads a stream until it has n fires.
func countFires(in *bufio.Reader, n int) error {
	for got := 0; got < n; {
		line, err := in.ReadString('\n')
		if err != nil {
			return fmt.Errorf("after %d events: %w", got, err)
		}
		if strings.HasPrefix(line, "event: missed") {
			return fmt.Errorf("events were missed after %d", got)
		}
		if strings.HasPrefix(line, "event: fire") {
			got++
		}
	}
	return nil
}

// startCrowd starts a crowd in a process of its own, so that the files and the memory of this one are those of
// the server. heard returns when each listener that reads has got its events.
func startCrowd(t *testing.T, ts *testServer, listeners, events, lazy int) (heard func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], strconv.Itoa(listeners), strconv.Itoa(events), strconv.Itoa(lazy))
	cmd.Env = append(os.Environ(), "FOLIOT_CROWD_OF="+strings.TrimPrefix(ts.url, "http://"))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the crowd: %v", err)
		}
	})
	lines := bufio.NewReader(out)
	expect := func(want string) {
		t.Helper()
		if line, err := lines.ReadString('\n'); err != nil || line != want+"\n" {
			t.Fatalf("the crowd says %q, want %q: %v", line, want, err)
		}
	}
	expect("open")
	return func() { expect("done") }
}

// serveConns starts a server that handles each connection by hand, and returns its address.
func serveConns(t *testing.T, handle func(conn net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				handle(conn)
			}()
		}
	}()
	return "http://" + ln.Addr().String()
}

// badReceivers returns the addresses of receivers that misbehave, by what they do.
func badReceivers(t *testing.T) map[string]string {
	t.Helper()
	over := t.Context().Done()    // closed before the server ends
	const soon = time.Millisecond // without a pause they would leave no processor time to others
	repeat := func(first, text string, pause time.Duration) func(net.Conn) {
		return func(conn net.Conn) {
			_, err := conn.Read(make([]byte, 1<<10)) // a response before the request is none
			if err == nil {
				_, err = io.WriteString(conn, first)
			}
			for err == nil {
				_, err = io.WriteString(conn, text)
				time.Sleep(pause)
			}
		}
	}
	return map[string]string{
		"refuses":     "http://127.0.0.1:1",
		"never reads": serveConns(t, func(net.Conn) { <-over }),
		"hangs up":    serveConns(t, func(conn net.Conn) { _ = conn.(*net.TCPConn).SetLinger(0) }),
		"is no server": serveConns(t, func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 1))
			_, _ = io.WriteString(conn, "SSH-2.0-x\r\n")
			<-over
		}),
		"hints":       serveConns(t, repeat("", "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n", soon)),
		"header":      serveConns(t, repeat("HTTP/1.1 200 OK\r\n", "X-Header: "+strings.Repeat("x", 1000)+"\r\n", soon)),
		"slow header": serveConns(t, repeat("HTTP/1.1 200 OK\r\nX: ", "x", 20*time.Millisecond)),
		"body":        serveConns(t, repeat("HTTP/1.1 500 Failed\r\n\r\n", strings.Repeat("x", 1<<16), soon)),
		"slow body":   serveConns(t, repeat("HTTP/1.1 500 Failed\r\n\r\n", "x", 20*time.Millisecond)),
		"bad chunks":  serveConns(t, repeat("HTTP/1.1 500 Failed\r\nTransfer-Encoding: chunked\r\n\r\n", "zz\r\n", soon)),
	}
}

// idleConns opens connections that send a part of a request and nothing more.
func idleConns(t *testing.T, ts *testServer, n int) {
	t.Helper()
	texts := []string{"", "GET", "GET /v1/timers HTTP/1.1\r\nHost: localhost\r\nX: ", "PUT /v1/timers/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{", "\x16\x03\x01"}
	for i := range n {
		conn, err := net.Dial("tcp", strings.TrimPrefix(ts.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(conn, texts[i%len(texts)]); err != nil {
			t.Fatal(err)
		}
	}
}

// memory returns the bytes of the heap and of stacks that are in use.
func memory() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

// Many listeners, of which some never read, connections that send nothing, and receivers that misbehave in each
// way do not stop timers: each webhook of a good receiver arrives, and each listener that reads gets each event.
// FOLIOT_CROWD is the number of listeners; with it, timers must also be on time.
func TestCrowd(t *testing.T) {
	listeners, long := 500, false
	if n, err := strconv.Atoi(os.Getenv("FOLIOT_CROWD")); err == nil {
		listeners, long = n, true
	}
	const events, goodTimers, badTimers, half = 50, 500, 40, 200
	if most := max(maxConnections()-half-100, 10); listeners > most {
		if long {
			t.Fatalf("the process may open too few files for %d listeners", listeners)
		}
		t.Logf("%d listeners instead of %d: the process may open few files", most, listeners)
		listeners = most
	}
	before := memory()
	ts := start(t, func(c *Config) {
		c.Concurrency, c.Attempts, c.webhookLimit = 64, -1, time.Second
		c.RetryMin, c.RetryMax = 100*time.Millisecond, time.Second
	})
	good := receive(t, nil)
	idleConns(t, ts, half)
	heard := startCrowd(t, ts, listeners, events, 10)
	eventually(t, func() bool { return ts.s.hub.Listeners() == listeners })
	late := collectLateness(listen(t, ts, "/v1/fires"), goodTimers+events)

	batch := func(n int, timer func(i int) string) {
		t.Helper()
		timers := make([]string, n)
		for i := range timers {
			timers[i] = timer(i)
		}
		ts.do("POST", "/v1/timers", `{"timers":[`+strings.Join(timers, ",")+`]}`).want(t, 200)
	}
	for name, url := range badReceivers(t) {
		batch(badTimers, func(i int) string {
			return fmt.Sprintf(`{"id":"%s/%d","after":"0s","webhook":{"url":%q},"payload":%q}`, name, i, url, strings.Repeat("x", 1<<10))
		})
	}
	batch(goodTimers, func(i int) string {
		return fmt.Sprintf(`{"id":"good/%d","after":"%dms","webhook":{"url":%q}}`, i, i*4, good.URL)
	})
	batch(events, func(i int) string {
		return fmt.Sprintf(`{"id":"event/%d","after":"%dms","kind":"crowd","payload":"0123456789"}`, i, i*40)
	})
	heard()
	arrived := func() int { // a webhook may come twice if the machine is slow
		ids := make(map[string]bool)
		for _, r := range good.got() {
			ids[r.header.Get("Webhook-Id")] = true
		}
		return len(ids)
	}
	eventually(t, func() bool { return arrived() == goodTimers })
	used := memory() - before
	if n := ts.s.hub.Listeners(); n != listeners+1 {
		t.Errorf("%d listeners are left of %d", n, listeners+1)
	}
	// A connection has two goroutines, a reader and a writer. Nothing else grows with their number.
	if most := 48<<10*(listeners+half) + 64<<20; used > most {
		t.Errorf("%d MiB are in use, want at most %d MiB", used>>20, most>>20)
	}
	all := <-late
	slices.Sort(all)
	p99 := all[len(all)*99/100]
	t.Logf("%d listeners, %d MiB: good timers are late by %v at the median, %v at p99, %v at most",
		listeners, used>>20, all[len(all)/2], p99, all[len(all)-1])
	if long && p99 > time.Second {
		t.Errorf("good timers are late by %v at p99", p99)
	}
}

// collectLateness reads a stream until it has n timers that are done, and then sends how late they were.
func collectLateness(l *listener, n int) <-chan []time.Duration {
	late := make(chan []time.Duration, 1)
	go func() {
		var all []time.Duration
		for len(all) < n {
			e := l.block()
			if e.name == "missed" {
				l.t.Errorf("events were missed: %s", e.data)
			}
			if e.name == "fire" && e.event.Outcome == outcomeDone {
				all = append(all, time.Duration(e.event.LateUs)*time.Microsecond)
			}
		}
		late <- all
	}()
	return late
}

// A receiver of each bad kind has a place for no longer than a webhook may take.
func TestBadReceiversAreLeft(t *testing.T) {
	ts := start(t, func(c *Config) { c.Attempts, c.webhookLimit = 1, 2*time.Second })
	bad := badReceivers(t)
	for name, url := range bad {
		ts.do("PUT", "/v1/timers/"+escape(name), hook(url, "")).want(t, 201)
	}
	eventually(t, func() bool { return ts.s.scheduler().Stats().Dead == len(bad) })
	if sending, waiting := ts.s.sender.Load(); sending != 0 || waiting != 0 {
		t.Errorf("%d are being sent, %d wait", sending, waiting)
	}
	for _, d := range into[DeadList](t, ts.do("GET", "/v1/dead", "").want(t, 200)).Dead {
		want := "127.0.0.1:"
		if strings.HasSuffix(d.ID, "body") || d.ID == "bad chunks" {
			want = "status " + strconv.Itoa(http.StatusInternalServerError)
		}
		if !strings.Contains(d.Error, want) {
			t.Errorf("%s: %s", d.ID, d.Error)
		}
	}
}
