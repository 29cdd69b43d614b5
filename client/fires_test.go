package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/client"
)

// A stage is a server of events. Each connection gets the next text, and is closed, or stays open after the last one.
type stage struct {
	texts []string
	asked []string // the Last-Event-ID of each connection
	query string
	gone  chan struct{} // closed when the client has left the last connection
}

func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked = append(s.asked, r.Header.Get("Last-Event-ID"))
	s.query = r.URL.RawQuery
	text := s.texts[len(s.asked)-1]
	if status, ok := strings.CutPrefix(text, "status "); ok {
		var n int
		fmt.Sscan(status, &n)
		problem(w, n, "refused")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, text)
	w.(http.Flusher).Flush()
	if len(s.asked) == len(s.texts) {
		<-r.Context().Done()
		if s.gone != nil {
			close(s.gone)
		}
	}
}

func fire(event int, id string) string {
	return fmt.Sprintf("event: fire\nid: %d\ndata: {\"id\":%q,\"rev\":7,\"key\":\"%s@7\",\"attempt\":1,\"late_us\":1500,\"outcome\":\"done\"}\n\n", event, id, id)
}

// listen reads fires until it has n of them, and returns their IDs.
func listen(t *testing.T, c *client.Client, q client.FireQuery, n int) (ids []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for f, err := range c.Fires(ctx, q) {
		if err != nil {
			t.Fatalf("after %q: %v", ids, err)
		}
		if ids = append(ids, f.ID); len(ids) == n {
			break
		}
	}
	return ids
}

func TestFiresAreDecoded(t *testing.T) {
	s := &stage{gone: make(chan struct{}), texts: []string{
		": welcome\n\nevent: fire\nid: 9\n" +
			`data: {"id":"a","rev":7,"key":"a@7","kind":"k","attempt":2,"late_us":1500,"outcome":"retry","status":503,"payload":{"x":[1]},"error":"status 503","at":"2040-01-31T12:00:00Z"}` + "\n\n",
	}}
	c := newClient(t, s, client.Options{})
	want := client.Fire{
		EventID: "9", ID: "a", Rev: 7, Key: "a@7", Kind: "k", Attempt: 2, Late: 1500 * time.Microsecond,
		Outcome: client.Failed, Status: 503, Payload: []byte(`{"x":[1]}`), Error: "status 503", At: noon,
	}
	for f, err := range c.Fires(t.Context(), client.FireQuery{Kind: "a&b"}) {
		if err != nil || !reflect.DeepEqual(f, want) {
			t.Errorf("%+v, %v; want %+v", f, err, want)
		}
		text, err := f.MarshalJSON()
		if again := (client.Fire{}); err != nil || again.UnmarshalJSON(text) != nil || !reflect.DeepEqual(again, want) {
			t.Errorf("from JSON %s: %+v, %v", text, again, err)
		}
		break
	}
	if s.query != "kind=a%26b" {
		t.Errorf("query %q", s.query)
	}
	select {
	case <-s.gone:
	case <-time.After(20 * time.Second):
		t.Error("the connection stays open after the loop")
	}
}

func TestLinesOfEventsMayEndInThreeWays(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		text := "\ufeff" + strings.ReplaceAll(fire(1, "a")+": comment\n\nevent: other\ndata: x\n\nid\ndata\n\n"+fire(2, "b")+
			"event:fire\ndata:{\"id\":\ndata:\"c\"}\nunknown: x\n\n"+fire(3, "d"), "\n", end)
		c := newClient(t, &stage{texts: []string{text}}, client.Options{})
		if ids := listen(t, c, client.FireQuery{}, 4); !slices.Equal(ids, []string{"a", "b", "c", "d"}) {
			t.Errorf("%q: %q", end, ids)
		}
	}
}

func TestALostConnectionGoesOnAfterTheLastEvent(t *testing.T) {
	s := &stage{texts: []string{
		"status 503",
		fire(1, "a") + fire(2, "b") + "event: fire\nid: 3\ndata: {\"id\":\"lost\"}\n", // without its end
		"status 429",
		"",
		"status 502",
		"id: 4\ndata: of no name\n\n",
		"retry: 1\n\n" + fire(5, "c"),
		fire(6, "d"),
	}}
	var lost []error
	c := newClient(t, s, client.Options{Retry: client.Retry{Attempts: 2, Min: time.Millisecond, Max: time.Millisecond}})
	connections := 0
	ids := listen(t, c, client.FireQuery{
		OnConnect:   func() { connections++ },
		OnReconnect: func(err error) { lost = append(lost, err) },
	}, 4)
	if !slices.Equal(ids, []string{"a", "b", "c", "d"}) {
		t.Errorf("fires %q", ids)
	}
	if want := []string{"", "", "2", "2", "2", "2", "4", "5"}; !slices.Equal(s.asked, want) {
		t.Errorf("Last-Event-ID %q, want %q", s.asked, want)
	}
	if connections != 5 {
		t.Errorf("%d connections, want 5", connections)
	}
	if len(lost) != 7 || slices.ContainsFunc(lost, func(err error) bool { return !errors.Is(err, client.ErrUnavailable) }) {
		t.Errorf("lost connections: %q", lost)
	}
}

// A connection that has brought no event goes on where it began.
func TestAStreamWithoutEventsGoesOnWhereItBegan(t *testing.T) {
	s := &stage{texts: []string{"id: 41\n\n", "id: 42\n", ":\n\n", fire(43, "a")}}
	c := newClient(t, s, client.Options{})
	listen(t, c, client.FireQuery{}, 1)
	if want := []string{"", "41", "41", "41"}; !slices.Equal(s.asked, want) {
		t.Errorf("Last-Event-ID %q, want %q", s.asked, want)
	}
}

func TestMissedEventsAreTold(t *testing.T) {
	s := &stage{texts: []string{
		fire(1, "a") + "id: 9\nevent: missed\ndata: {\"from\":2,\"to\":9}\n\n", "event: missed\nid: 99\ndata: {\"from\":10,\"to\":99,\"more\":1}\n\n" + fire(100, "b"),
	}}
	var missed []uint64
	c := newClient(t, s, client.Options{})
	listen(t, c, client.FireQuery{OnMissed: func(from, to uint64) { missed = append(missed, from, to) }}, 2)
	if want := []uint64{2, 9, 10, 99}; !slices.Equal(missed, want) {
		t.Errorf("missed %d, want %d", missed, want)
	}
	if want := []string{"", "9"}; !slices.Equal(s.asked, want) {
		t.Errorf("Last-Event-ID %q, want %q", s.asked, want)
	}
	s = &stage{texts: s.texts}
	if ids := listen(t, newClient(t, s, client.Options{}), client.FireQuery{}, 2); !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("without OnMissed: fires %q", ids)
	}
}

func TestTheLastEventOfBeforeIsSent(t *testing.T) {
	s := &stage{texts: []string{": nothing\n\n", fire(8, "a")}}
	c := newClient(t, s, client.Options{})
	listen(t, c, client.FireQuery{LastEventID: "7"}, 1)
	if want := []string{"7", "7"}; !slices.Equal(s.asked, want) {
		t.Errorf("Last-Event-ID %q, want %q", s.asked, want)
	}
}

// A connection that has died without a word is made again.
func TestASilentConnectionIsLost(t *testing.T) {
	asked := 0
	c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Content-Type", "text/event-stream")
		if asked == 2 {
			io.WriteString(w, fire(1, "a"))
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}), client.Options{})
	var lost error
	listen(t, c, client.FireQuery{Silence: 50 * time.Millisecond, OnReconnect: func(err error) { lost = err }}, 1)
	if asked != 2 || lost == nil || !strings.Contains(lost.Error(), "sent nothing for 50ms") {
		t.Errorf("%d connections, %v", asked, lost)
	}
}

// The time that the loop body takes is no silence of the server.
func TestASlowLoopBodyKeepsItsConnection(t *testing.T) {
	s := &stage{texts: []string{fire(1, "a") + fire(2, "b")}}
	c := newClient(t, s, client.Options{})
	n := 0
	for f, err := range c.Fires(t.Context(), client.FireQuery{Silence: 50 * time.Millisecond}) {
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(150 * time.Millisecond)
		if n++; f.ID == "b" {
			break
		}
	}
	if n != 2 || len(s.asked) != 1 {
		t.Errorf("%d fires by %d connections, want 2 by 1", n, len(s.asked))
	}
}

func TestFiresThatCannotBeReadEndTheLoop(t *testing.T) {
	long := strings.Repeat("x", 2<<20)
	lines := strings.Repeat("data: "+strings.Repeat("x", 100_000)+"\n", 20)
	for name, c := range map[string]struct {
		text string
		want error // nil: any
	}{
		"a long line":    {"data: " + long + "\n\n", client.ErrTooLarge},
		"a long comment": {": " + long, client.ErrTooLarge},
		"many lines":     {lines + "\n\n", client.ErrTooLarge},
		"not JSON":       {"event: fire\ndata: {\n\n", nil},
		"a wrong type":   {"event: fire\ndata: {\"id\":1}\n\n", nil},
		"no data":        {"event: fire\n\n", nil},
		"a wrong gap":    {"event: missed\ndata: {\"from\":-1}\n\n", nil},
		"a long ID":      {"id: " + long[:2000] + "\n\n", nil},
		"a strange ID":   {"id: a\x00b\n\n", nil},
		"unauthorized":   {"status 401", client.ErrUnauthorized},
		"status 500":     {"status 500", nil},
	} {
		s := &stage{texts: []string{fire(1, "a"), c.text}}
		if strings.HasPrefix(c.text, "status") {
			s.texts = append(s.texts, "") // it closes the connection
		}
		n, err := failure(newClient(t, s, client.Options{}).Fires(t.Context(), client.FireQuery{}))
		if n != 1 || err == nil || c.want != nil && !errors.Is(err, c.want) || len(s.asked) != 2 {
			t.Errorf("%s: %d fires, %d connections, %v", name, n, len(s.asked), err)
		}
	}
}

func TestTheFirstConnectionMustSucceed(t *testing.T) {
	s := &stage{texts: []string{"status 503", "status 503", "status 503", ""}}
	n, err := failure(newClient(t, s, client.Options{Retry: client.Retry{Attempts: 3}}).Fires(t.Context(), client.FireQuery{}))
	if n != 0 || !errors.Is(err, client.ErrUnavailable) || len(s.asked) != 3 {
		t.Errorf("%d fires, %d connections, %v", n, len(s.asked), err)
	}
}

func TestTheEndOfTheContextEndsFires(t *testing.T) {
	for name, texts := range map[string][]string{"connected": {fire(1, "a")}, "in a pause": {fire(1, "a") + "retry: 20000\n\n", ""}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("enough")
		c := newClient(t, &stage{texts: texts}, client.Options{})
		var last error
		n := 0
		for _, err := range c.Fires(ctx, client.FireQuery{OnReconnect: func(error) { cancel(cause) }}) {
			last = err
			if n++; len(texts) == 1 {
				cancel(cause)
			}
		}
		if n != 2 || !errors.Is(last, cause) {
			t.Errorf("%s: %d pairs, the last with %v", name, n, last)
		}
		cancel(nil)
	}
}
