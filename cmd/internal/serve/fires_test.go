package serve

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/foliot-go/foliot/durable"
)

// A listener reads server-sent events.
type listener struct {
	t    *testing.T
	resp *http.Response
	in   *bufio.Reader
}

// A sentEvent is one event.
type sentEvent struct {
	id    string
	name  string
	data  string
	event FireEvent
}

func listen(t *testing.T, ts *testServer, path string, headers ...string) *listener {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", ts.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d, %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	return &listener{t, resp, bufio.NewReader(resp.Body)}
}

// next returns the next event. Comments and positions are left out.
func (l *listener) next() (e sentEvent) {
	l.t.Helper()
	for e.name == "" {
		e = l.block()
	}
	return e
}

// block returns the next block. It has no name if it is no event.
func (l *listener) block() (e sentEvent) {
	l.t.Helper()
	for {
		line, err := l.in.ReadString('\n')
		if err != nil {
			l.t.Fatalf("the stream ended: %v", err)
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
			if e.name != "fire" {
				break
			}
			if err := json.Unmarshal([]byte(value), &e.event); err != nil {
				l.t.Fatal(err)
			}
		case "":
			return e
		}
	}
}

func TestListenersGetKinds(t *testing.T) {
	ts := start(t, nil)
	all, mails := listen(t, ts, "/v1/fires"), listen(t, ts, "/v1/fires?kind=mail")
	rev := into[Timer](t, ts.do("PUT", "/v1/timers/a", "{\"after\":\"1ms\",\"kind\":\"call\",\"payload\":{\n\"x\": [1,\n2]}}").want(t, 201)).Rev
	e := all.next()
	want := FireEvent{ID: "a", Rev: rev, Key: fmt.Sprintf("a@%d", rev), Attempt: 1, At: e.event.At, LateUs: e.event.LateUs, Outcome: "done", Kind: "call", Payload: []byte(`{"x":[1,2]}`)}
	if fmt.Sprint(e.event) != fmt.Sprint(want) || e.name != "fire" || e.event.LateUs < 0 || e.event.LateUs > 10e6 {
		t.Errorf("%s %+v, want %+v", e.name, e.event, want)
	}
	ts.do("PUT", "/v1/timers/b", `{"after":"0s","kind":"mail"}`).want(t, 201)
	if e := mails.next().event; e.ID != "b" || e.Payload != nil {
		t.Errorf("%+v", e)
	}
	if e := all.next().event; e.ID != "b" {
		t.Errorf("%+v", e)
	}
	ts.do("GET", "/v1/fires?kind=a+b", "").want(t, 400)
	ts.do("GET", "/v1/fires?colour=red", "").want(t, 400)
	ts.do("GET", "/v1/fires", "", "Last-Event-ID", "x").want(t, 400)
}

func TestLastEventIDCatchesUp(t *testing.T) {
	ts := start(t, nil)
	l := listen(t, ts, "/v1/fires")
	var ids []string
	for i := range 5 {
		ts.do("PUT", fmt.Sprintf("/v1/timers/t-%d", i), `{"after":"0s","kind":"k"}`).want(t, 201)
		ids = append(ids, l.next().id)
	}
	for i := range 4 {
		again := listen(t, ts, "/v1/fires", "Last-Event-ID", ids[i])
		for _, want := range ids[i+1:] {
			if e := again.next(); e.id != want {
				t.Fatalf("event %s, want %s", e.id, want)
			}
		}
	}
	if e := listen(t, ts, "/v1/fires", "Last-Event-ID", "0").next(); e.id != ids[0] {
		t.Errorf("after 0: event %s, want %s", e.id, ids[0])
	}
	for _, foreign := range []string{"1", "18446744073709551615"} { // of another process
		again := listen(t, ts, "/v1/fires", "Last-Event-ID", foreign)
		if e := again.next(); e.name != "missed" {
			t.Errorf("after %s: %+v", foreign, e)
		}
		if e := again.next(); e.id != ids[0] {
			t.Errorf("after %s: event %s, want %s", foreign, e.id, ids[0])
		}
	}
}

// A listener that has got no event yet can come back without missing any.
func TestAStreamBeginsWithItsPosition(t *testing.T) {
	ts := start(t, nil)
	first := listen(t, ts, "/v1/fires?kind=k")
	position := first.block()
	if position.id == "" || position.name != "" || position.data != "" {
		t.Fatalf("%+v", position)
	}
	first.resp.Body.Close()
	ts.do("PUT", "/v1/timers/a", `{"after":"0s","kind":"k"}`).want(t, 201)
	eventually(t, func() bool { return ts.s.scheduler().Stats().Handled == 1 })
	again := listen(t, ts, "/v1/fires?kind=k", "Last-Event-ID", position.id)
	if e := again.block(); e.event.ID != "a" {
		t.Errorf("%+v", e)
	}
}

// Events of other kinds move the position of a listener, so that it does not seem to miss what it does not want.
func TestAPositionMovesOnWithOtherKinds(t *testing.T) {
	ts := start(t, func(c *Config) { c.beat = 20 * time.Millisecond })
	all, rare := listen(t, ts, "/v1/fires"), listen(t, ts, "/v1/fires?kind=rare")
	for range 3 {
		ts.s.publish(&durable.Fire{Timer: durable.Timer{ID: "a"}}, &envelope{Kind: "k"}, outcomeDone, 0, nil)
	}
	var last sentEvent
	for range 3 {
		last = all.next()
	}
	for {
		e := rare.block()
		if e.name != "" || e.id > last.id {
			t.Fatalf("%+v", e)
		}
		if e.id == last.id {
			break
		}
	}
	if e := rare.block(); e.id != "" {
		t.Errorf("the position is sent twice: %+v", e)
	}
}

func TestMissedEventsAreAnnounced(t *testing.T) {
	ts := start(t, nil)
	l := listen(t, ts, "/v1/fires")
	const more = 100
	for range keepEvents + more {
		ts.s.hub.Publish("", func(id uint64) []byte { return fmt.Appendf(nil, "id: %d\nevent: fire\ndata: {}\n\n", id) })
	}
	first, err := strconv.ParseUint(l.block().id, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	again := listen(t, ts, "/v1/fires", "Last-Event-ID", strconv.FormatUint(first+1, 10))
	oldest := first + more + 1
	want := fmt.Sprintf(`{"from":%d,"to":%d}`, first+2, oldest-1)
	if e := again.block(); e.name != "missed" || e.data != want || e.id != strconv.FormatUint(oldest-1, 10) {
		t.Errorf("%+v, want %s", e, want)
	}
	if e := again.block(); e.id != strconv.FormatUint(oldest, 10) {
		t.Errorf("%+v, want %d", e, oldest)
	}
}

// The numbers of events of another process are no count, and the event says so.
func TestMissedEventsOfAnotherProcess(t *testing.T) {
	same := newPlace(t)
	ts := start(t, same)
	last := listen(t, ts, "/v1/fires").block().id
	if err := ts.end(); err != nil {
		t.Fatal(err)
	}
	e := listen(t, start(t, same), "/v1/fires", "Last-Event-ID", last).block()
	after, err := strconv.ParseUint(last, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf(`{"from":%d,"to":%s,"restart":true}`, after+1, e.id); e.name != "missed" || e.data != want {
		t.Errorf("%+v, want %s", e, want)
	}
}

// A client of HTTP/1.0 gets a stream, too. It ends with the connection.
func TestStreamsOfHTTP10(t *testing.T) {
	ts := start(t, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(ts.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /v1/fires HTTP/1.0\r\n\r\n")
	eventually(t, func() bool { return ts.s.hub.Listeners() == 1 })
	ts.do("PUT", "/v1/timers/a", `{"after":"0s","kind":"k"}`).want(t, 201)
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != 200 || len(resp.TransferEncoding) != 0 {
		t.Fatal(resp, err)
	}
	if e := (&listener{t, resp, bufio.NewReader(resp.Body)}).next(); e.event.ID != "a" {
		t.Errorf("%+v", e)
	}
}

// HEAD has the header of a stream and ends.
func TestHeadOfAStream(t *testing.T) {
	ts := start(t, nil)
	if r := ts.do("HEAD", "/v1/fires", "").want(t, 200); r.header.Get("Content-Type") != "text/event-stream" {
		t.Error(r.header)
	}
	if n := ts.s.hub.Listeners(); n != 0 {
		t.Errorf("%d listeners", n)
	}
}

// A stream goes on for longer than a request may take, and an idle one shows that it is alive.
func TestListenersOutliveTheLimitOfRequests(t *testing.T) {
	ts := start(t, func(c *Config) { c.requestLimit, c.beat = 100*time.Millisecond, 20*time.Millisecond })
	l := listen(t, ts, "/v1/fires")
	l.block() // its position
	for range 15 {
		if line, err := l.in.ReadString('\n'); err != nil || line != ":\n" {
			t.Fatalf("%q %v", line, err)
		}
		if line, err := l.in.ReadString('\n'); err != nil || line != "\n" {
			t.Fatalf("%q %v", line, err)
		}
	}
	ts.do("PUT", "/v1/timers/a", `{"after":"0s","kind":"k"}`).want(t, 201)
	if e := l.next().event; e.ID != "a" {
		t.Errorf("%+v", e)
	}
}

func TestListenersGetWhatTheEndPublishes(t *testing.T) {
	called, answer := make(chan bool), make(chan bool)
	rc := receive(t, func(int, http.ResponseWriter, *http.Request) {
		called <- true
		<-answer
	})
	ts := start(t, nil)
	l := listen(t, ts, "/v1/fires")
	ts.do("PUT", "/v1/timers/a", hook(rc.URL, "")).want(t, 201)
	<-called
	ended := make(chan error, 1)
	go func() { ended <- ts.end() }()
	eventually(t, func() bool { _, err := ts.try("GET", "/healthz", "", "Connection", "close"); return err != nil })
	answer <- true
	if e := l.next().event; e.ID != "a" || e.Outcome != "done" {
		t.Errorf("%+v", e)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A stream of HTTP/2 that is idle for longer than a listener may take to read goes on.
func TestListenersOfHTTP2(t *testing.T) {
	dir := t.TempDir()
	writeCert(t, dir, "localhost")
	ts := start(t, func(c *Config) {
		c.TLSCert, c.TLSKey = filepath.Join(dir, "cert"), filepath.Join(dir, "key")
		c.patience, c.requestLimit = 50*time.Millisecond, 100*time.Millisecond
	})
	l := listen(t, ts, "/v1/fires")
	if l.resp.ProtoMajor != 2 {
		t.Fatal(l.resp.Proto)
	}
	time.Sleep(300 * time.Millisecond)
	ts.s.publish(&durable.Fire{Timer: durable.Timer{ID: "a"}}, &envelope{}, outcomeDone, 0, nil)
	if e := l.next().event; e.ID != "a" {
		t.Errorf("%+v", e)
	}
}

// A listener that does not read is cut off.
func TestListenersThatDoNotReadAreCutOff(t *testing.T) {
	ts := start(t, func(c *Config) { c.patience = 50 * time.Millisecond })
	conn, err := net.Dial("tcp", strings.TrimPrefix(ts.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /v1/fires HTTP/1.1\r\nHost: localhost\r\n\r\n")
	eventually(t, func() bool { return ts.s.hub.Listeners() == 1 })
	payload := []byte(`"` + strings.Repeat("x", maxPayload-2) + `"`)
	eventually(t, func() bool {
		ts.s.publish(&durable.Fire{Timer: durable.Timer{ID: "a"}}, &envelope{Payload: payload}, outcomeDone, 0, nil)
		return ts.s.hub.Listeners() == 0
	})
}
