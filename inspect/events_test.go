package inspect_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/inspect"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A stream is a connection to /events.
type stream struct {
	t     *testing.T
	lines *bufio.Scanner
	close func()
}

// An event is an event of a stream.
type event struct {
	id   uint64
	data string
}

// listen opens a connection to /events. last is the id of the last event, "" for none.
func listen(t *testing.T, server *httptest.Server, last string) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("the status is %d and the type %q", resp.StatusCode, got)
	}
	if got := resp.Header.Get("X-Accel-Buffering"); got != "no" {
		t.Errorf("X-Accel-Buffering is %q, want no", got)
	}
	wantHeaders(t, "GET /events", resp.Header)
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<24)
	return &stream{t, lines, func() {
		cancel()
		_ = resp.Body.Close()
	}}
}

// next returns the next event.
func (s *stream) next() (e event) {
	s.t.Helper()
	for s.lines.Scan() {
		switch name, value, _ := strings.Cut(s.lines.Text(), ": "); name {
		case "id":
			id, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			e.id = id
		case "data":
			e.data = value
		case "":
			if e.data != "" {
				return e
			}
		case "retry":
		default:
			s.t.Fatalf("the stream has the line %q", s.lines.Text())
		}
	}
	s.t.Fatalf("the stream has ended: %v", s.lines.Err())
	return e
}

// serve starts a server with a handler for a runtime, and checks at the end that no goroutine is left.
func serve(t *testing.T, o inspect.Options) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(inspect.Handler(o))
	t.Cleanup(func() {
		server.Close()
		kit.WantNoGoroutines(t, "after the server is closed")
	})
	return server
}

const shortest = 100 * time.Millisecond

func TestEventsAreSnapshotsThatAreCounted(t *testing.T) {
	testkit.SkipIfShort(t)
	const interval = 4 * shortest // long enough to arm a timer before the next snapshot
	rt, _ := kit.NewManual(t, foliot.Options{})
	server := serve(t, inspect.Options{Runtimes: map[string]*foliot.Runtime{"main": rt}, Interval: interval})
	s := listen(t, server, "")
	defer s.close()
	var first time.Time
	for i := range 4 {
		e := s.next()
		if e.id != uint64(i)+1 {
			t.Errorf("event %d has the id %d", i+1, e.id)
		}
		var p figures
		if err := json.Unmarshal([]byte(e.data), &p); err != nil {
			t.Fatal(err)
		}
		if got := p.Runtimes["main"].Stats; got == nil || got.Armed != i {
			t.Errorf("event %d has %+v, want %d armed timers", i+1, got, i)
		}
		if i == 0 {
			first = p.Time
		}
		// A snapshot that is late makes the time to the next one shorter, so only the sum of three intervals is
		// compared, with one of them.
		if i == 3 && p.Time.Sub(first) < interval {
			t.Errorf("the last event comes %v after the first, want about %v", p.Time.Sub(first), 3*interval)
		}
		kit.After(t, rt, time.Hour, closeIdle)
	}
}

func TestAReconnectGoesOnCounting(t *testing.T) {
	rt, _ := kit.NewManual(t, foliot.Options{})
	server := serve(t, inspect.Options{Runtimes: map[string]*foliot.Runtime{"main": rt}, Interval: shortest})
	for last, want := range map[string]uint64{
		"":                      1,
		"41":                    42,
		"9007199254740990":      9007199254740991,
		"9007199254740991":      1, // the last number that JavaScript has
		"18446744073709551615":  1,
		"99999999999999999999":  1,
		"-3":                    1,
		"something of a client": 1,
	} {
		s := listen(t, server, last)
		if e := s.next(); e.id != want {
			t.Errorf("after the id %q the first event has the id %d, want %d", last, e.id, want)
		}
		s.close()
	}
}

// countedQueue counts the snapshots that are taken of it.
type countedQueue struct {
	snapshots atomic.Int64
	size      int // how many buckets its horizon has
}

func (q *countedQueue) Len() int {
	q.snapshots.Add(1)
	return q.size
}

func (q *countedQueue) Horizon() []foliot.HorizonBucket { return make([]foliot.HorizonBucket, q.size) }

func TestAllListenersShareThePictures(t *testing.T) {
	q := new(countedQueue)
	server := serve(t, inspect.Options{
		Runtimes: map[string]*foliot.Runtime{}, Interval: shortest, Queues: map[string]inspect.Queue{"q": q},
	})
	const listeners, events = 20, 5
	began := time.Now()
	var all sync.WaitGroup
	for range listeners {
		s := listen(t, server, "")
		all.Go(func() {
			defer s.close()
			for range events {
				s.next()
			}
		})
	}
	all.Wait()
	most := int64(time.Since(began)/shortest) + 2
	if n := q.snapshots.Load(); n < events-1 || n > most {
		t.Errorf("%d snapshots were taken for %d events of %d listeners, want at most %d", n, events, listeners, most)
	}
}

func TestNothingRunsWhileNoClientListens(t *testing.T) {
	q := new(countedQueue)
	server := httptest.NewServer(inspect.Handler(inspect.Options{
		Runtimes: map[string]*foliot.Runtime{}, Interval: shortest, Queues: map[string]inspect.Queue{"q": q},
	}))
	defer server.Close()
	kit.WantNoGoroutines(t, "before the first client")
	if n := q.snapshots.Load(); n != 0 {
		t.Errorf("%d snapshots were taken before the first client", n)
	}
	for round := range 3 {
		var streams []*stream
		for range 5 {
			streams = append(streams, listen(t, server, ""))
		}
		for _, s := range streams {
			s.next()
		}
		if len(kit.LibraryGoroutines()) == 0 {
			t.Error("no goroutine takes snapshots while clients listen")
		}
		for _, s := range streams {
			s.close()
		}
		kit.WantNoGoroutines(t, fmt.Sprintf("after the clients of round %d", round))
		n := q.snapshots.Load()
		time.Sleep(2 * shortest)
		if after := q.snapshots.Load(); after != n {
			t.Errorf("%d snapshots were taken after the last client had left", after-n)
		}
	}
}

func TestListenersComeAndGo(t *testing.T) {
	testkit.SkipIfShort(t)
	rt := kit.NewRuntime(t, foliot.Options{})
	server := serve(t, inspect.Options{Runtimes: map[string]*foliot.Runtime{"main": rt}, Interval: shortest})
	end := time.Now().Add(testkit.StressTime(t, time.Second))
	var all sync.WaitGroup
	for k := range 16 {
		all.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				s := listen(t, server, "")
				last := uint64(0)
				for range (i + k) % 4 {
					e := s.next()
					if e.id != last+1 {
						t.Errorf("event %d follows event %d", e.id, last)
					}
					last = e.id
				}
				s.close()
				kit.After(t, rt, kit.Random(10*time.Millisecond), closeIdle)
			}
		})
	}
	all.Wait()
}

func TestAHandlerBelowOthersCanFlush(t *testing.T) {
	// A middleware that wraps the ResponseWriter, as many do.
	h := inspect.Handler(inspect.Options{Runtimes: map[string]*foliot.Runtime{}, Interval: shortest})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(wrapped{w}, r)
	}))
	defer server.Close()
	s := listen(t, server, "")
	defer s.close()
	s.next()
	s.next()
}

// wrapped is a ResponseWriter that can be unwrapped.
type wrapped struct{ w http.ResponseWriter }

func (w wrapped) Header() http.Header         { return w.w.Header() }
func (w wrapped) Write(p []byte) (int, error) { return w.w.Write(p) }
func (w wrapped) WriteHeader(status int)      { w.w.WriteHeader(status) }
func (w wrapped) Unwrap() http.ResponseWriter { return w.w }
