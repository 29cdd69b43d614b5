package inspect

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
)

func TestIntervalIsAtLeastATenthOfASecond(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		0:                500 * time.Millisecond,
		-time.Second:     100 * time.Millisecond,
		time.Nanosecond:  100 * time.Millisecond,
		time.Second:      time.Second,
		10 * time.Minute: 10 * time.Minute,
	} {
		if got := interval(d); got != want {
			t.Errorf("with %v the interval is %v, want %v", d, got, want)
		}
	}
}

// largeQueue has a horizon of some megabytes of JSON.
type largeQueue struct{}

func (largeQueue) Len() int                        { return 0 }
func (largeQueue) Horizon() []foliot.HorizonBucket { return make([]foliot.HorizonBucket, 100_000) }

// A client that does not read must not hold up others, and must be disconnected.
func TestASlowClientIsDisconnectedAndDelaysNoOther(t *testing.T) {
	testkit.SkipIfShort(t)
	h := Handler(Options{
		Runtimes: map[string]*foliot.Runtime{}, Interval: intervalMin, Queues: map[string]Queue{"large": largeQueue{}},
	}).(*handler)
	h.feed.limit = 2 * time.Second // a busy system may hold up the client that reads, too
	server := httptest.NewServer(h)
	defer server.Close()

	slow, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if _, err := io.WriteString(slow, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the slow client listens", func() bool { return h.feed.count() == 1 })

	resp, err := http.Get(server.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	events := 0
	lines := bufio.NewReader(resp.Body)
	for began := time.Now(); h.feed.count() == 2 || events < 5; {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, "data:") {
			events++
		}
		if time.Since(began) > testkit.Timeout {
			t.Fatalf("after %v the slow client still listens", testkit.Timeout)
		}
	}
	if n := h.feed.count(); n != 1 {
		t.Errorf("%d clients listen, want only the one that reads", n)
	}
}

// count returns the number of listeners.
func (f *feed) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.listeners)
}
