package serve

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/foliot-go/foliot/cmd/internal/serve/webhook"
	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/storetest"
)

// writeFile writes a file of a test and returns its path.
func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func testSecret(fill string) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(fill, 24)))
}

func TestWebhookIsSignedAndHasThePayload(t *testing.T) {
	rc := receive(t, nil)
	old, next := testSecret("o"), testSecret("n")
	ts := start(t, func(c *Config) { c.SecretFile = writeFile(t, old+"\n"+next+"\n") })
	payload := `{ "b": [1, 2.50, "<&>"],  "a": null }`
	body := fmt.Sprintf(`{"after":"1ms","payload":%s,"webhook":{"url":%q,"headers":{"X-Team":"billing","User-Agent":"mine"}}}`, payload, rc.URL+"/hook?x=1")
	made := into[Timer](t, ts.do("PUT", "/v1/timers/a%20b", body).want(t, 201))
	eventually(t, func() bool { return len(rc.got()) == 1 })
	got := rc.got()[0]
	if got.method != "POST" || got.body != payload {
		t.Errorf("%s %s", got.method, got.body)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "X-Team": "billing", "User-Agent": "mine", "Webhook-Id": fmt.Sprintf("a%%20b@%d", made.Rev),
	} {
		if v := got.header.Get(name); v != want {
			t.Errorf("%s is %q, want %q", name, v, want)
		}
	}
	for _, secret := range []string{old, next} {
		w, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Verify([]byte(got.body), got.header); err != nil {
			t.Error(err)
		}
	}
	eventually(t, func() bool { return ts.do("GET", "/v1/timers/a%20b", "").status == 404 })
}

// A payload may have 64 KiB, whatever the webhook needs besides.
func TestTheLargestPayloadFits(t *testing.T) {
	rc := receive(t, nil)
	ts := start(t, nil)
	var b strings.Builder
	for i := 0; b.Len() < maxPayload-2; i++ {
		b.WriteByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"[(i*i*7+i/64*13)%64])
	}
	payload := `"` + b.String() + `"`
	headers := fmt.Sprintf(`{"X-Long":%q}`, strings.Repeat("h", 4000))
	ts.do("PUT", "/v1/timers/big", fmt.Sprintf(`{"after":"1ms","payload":%s,"webhook":{"url":%q,"headers":%s}}`, payload, rc.URL, headers)).want(t, 201)
	eventually(t, func() bool { return len(rc.got()) == 1 })
	if got := rc.got()[0].body; got != payload {
		t.Errorf("%d bytes, want %d", len(got), len(payload))
	}
}

func TestStatusOfWebhookDecides(t *testing.T) {
	for _, tt := range []struct {
		status int
		calls  int // of the webhook in all; there are 3 attempts
		event  string
	}{
		{200, 1, "done"},
		{204, 1, "done"},
		{299, 1, "done"},
		{410, 1, "done"},
		{301, 3, "dead"},
		{307, 3, "dead"},
		{400, 3, "dead"},
		{404, 3, "dead"},
		{429, 3, "dead"},
		{500, 3, "dead"},
		{503, 3, "dead"},
	} {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			t.Parallel()
			rc := receive(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tt.status)
			})
			ts := start(t, nil)
			l := listen(t, ts, "/v1/fires")
			ts.do("PUT", "/v1/timers/a", hook(rc.URL, `,"payload":[1]`)).want(t, 201)
			var last FireEvent
			for i := range tt.calls {
				last = l.next().event
				if last.Attempt != i+1 || last.Status != tt.status || last.ID != "a" || string(last.Payload) != "[1]" {
					t.Fatalf("%+v", last)
				}
				why := ""
				if tt.event == "dead" {
					why = fmt.Sprintf("%s returned status %d", strings.TrimPrefix(rc.URL, "http://"), tt.status)
				}
				if age := time.Since(last.At); last.Error != why || age < 0 || age > time.Minute {
					t.Fatalf("error %q, want %q; began %v ago", last.Error, why, age)
				}
				if i+1 < tt.calls && last.Outcome != "retry" {
					t.Fatalf("attempt %d: %+v", i+1, last)
				}
			}
			if last.Outcome != tt.event {
				t.Errorf("%+v", last)
			}
			got := rc.got()
			if len(got) != tt.calls {
				t.Errorf("%d calls, want %d", len(got), tt.calls)
			}
			for _, r := range got {
				if id := r.header.Get("Webhook-Id"); id != last.Key {
					t.Errorf("webhook-id %s, want %s", id, last.Key)
				}
			}
		})
	}
}

func TestDeadTimers(t *testing.T) {
	var mended atomic.Bool
	rc := receive(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if !mended.Load() {
			w.WriteHeader(500)
		}
	})
	same := newPlace(t)
	ts := start(t, same)
	deadIDs := func(query string) (ids []string, next string) {
		l := into[DeadList](t, ts.do("GET", "/v1/dead"+query, "").want(t, 200))
		for _, d := range l.Dead {
			if d.Attempts != 3 || !strings.Contains(d.Error, "status 500") || d.At.IsZero() || d.Key != fmt.Sprintf("%s@%d", d.ID, d.Rev) {
				t.Errorf("%+v", d)
			}
			ids = append(ids, d.ID)
		}
		return ids, l.Next
	}
	if r := ts.do("GET", "/v1/dead", "").want(t, 200); strings.TrimSpace(r.body) != `{"dead":[]}` {
		t.Error(r.body)
	}
	for _, id := range []string{"a", "b", "c"} {
		ts.do("PUT", "/v1/timers/"+id, hook(rc.URL, "")).want(t, 201)
	}
	eventually(t, func() bool { ids, _ := deadIDs(""); return len(ids) == 3 })
	if err := ts.end(); err != nil {
		t.Fatal(err)
	}
	ts = start(t, same) // the errors are kept
	first, next := deadIDs("?limit=2")
	second, end := deadIDs("?limit=2&cursor=" + next)
	if fmt.Sprint(first, second) != "[a b] [c]" || end != "" {
		t.Error(first, second, end)
	}
	ts.do("GET", "/v1/dead?limit=x", "").want(t, 400)
	ts.do("GET", "/v1/dead?cursor=x", "").want(t, 400)
	ts.do("GET", "/v1/dead?colour=x", "").want(t, 400)

	ts.do("DELETE", "/v1/dead/a", "").want(t, 200)
	ts.do("DELETE", "/v1/dead/a", "").want(t, 404)
	ts.do("POST", "/v1/dead/a/redrive", "").want(t, 404)
	ts.do("PUT", "/v1/timers/b", `{"after":"1h","kind":"k"}`).want(t, 201)
	ts.do("POST", "/v1/dead/b/redrive", "").want(t, 409)
	mended.Store(true)
	n := len(rc.got())
	ts.do("POST", "/v1/dead/c/redrive", "").want(t, 200)
	eventually(t, func() bool { return len(rc.got()) == n+1 })
	eventually(t, func() bool { ids, _ := deadIDs(""); return fmt.Sprint(ids) == "[b]" })
}

// Occurrences that fire before the answer arrives are delivered, too. So there may be more calls than three.
func TestGoneEndsAPeriodicTimer(t *testing.T) {
	rc := receive(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n >= 3 {
			w.WriteHeader(410)
		}
	})
	ts := start(t, nil)
	ts.do("PUT", "/v1/timers/tick", fmt.Sprintf(`{"every":"30ms","webhook":{"url":%q}}`, rc.URL)).want(t, 201)
	eventually(t, func() bool { return ts.do("GET", "/v1/timers/tick", "").status == 404 })
	eventually(t, func() bool { return ts.s.scheduler().Stats().Running == 0 })
	n := len(rc.got())
	time.Sleep(100 * time.Millisecond)
	if more := len(rc.got()); n < 3 || more != n {
		t.Errorf("%d calls, and %d later, want at least 3 and no more", n, more)
	}
}

// A receiver that is always slower than the period ends its timer, too.
func TestSlowGoneEndsAPeriodicTimer(t *testing.T) {
	t.Parallel()
	rc := receive(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		time.Sleep(200 * time.Millisecond)
		w.WriteHeader(410)
	})
	ts := start(t, nil)
	ts.do("PUT", "/v1/timers/tick", fmt.Sprintf(`{"every":"30ms","webhook":{"url":%q}}`, rc.URL)).want(t, 201)
	eventually(t, func() bool { return ts.do("GET", "/v1/timers/tick", "").status == 404 })
	eventually(t, func() bool { return ts.s.scheduler().Stats().Running == 0 })
	if n := len(rc.got()); n < 2 {
		t.Errorf("%d calls before the first answer, want more", n)
	}
}

// A timer with the same ID that was made while the webhook of the old one ran is another series.
func TestGoneLeavesANewSeries(t *testing.T) {
	called, answer := make(chan bool), make(chan bool)
	rc := receive(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		called <- true
		<-answer
		w.WriteHeader(410)
	})
	ts := start(t, nil)
	body := fmt.Sprintf(`{"after":"1ms","every":"1h","webhook":{"url":%q}}`, rc.URL)
	ts.do("PUT", "/v1/timers/tick", body).want(t, 201)
	<-called
	ts.do("PUT", "/v1/timers/tick", strings.Replace(body, `"after":"1ms",`, "", 1)).want(t, 200)
	answer <- true
	eventually(t, func() bool { return ts.s.scheduler().Stats().Running == 0 })
	ts.do("GET", "/v1/timers/tick", "").want(t, 200)
}

func TestDeleteDuringAnOccurrence(t *testing.T) {
	called, answer := make(chan bool), make(chan bool)
	rc := receive(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		called <- true
		<-answer
	})
	ts := start(t, nil)
	ts.do("PUT", "/v1/timers/once", hook(rc.URL, "")).want(t, 201)
	<-called
	ts.do("DELETE", "/v1/timers/once", "").want(t, 404)
	answer <- true
	ts.do("PUT", "/v1/timers/tick", hook(rc.URL, `,"every":"1h"`)).want(t, 201)
	<-called
	ts.do("DELETE", "/v1/timers/tick", "").want(t, 200)
	answer <- true
	eventually(t, func() bool { return ts.s.scheduler().Stats().Running == 0 })
	ts.do("GET", "/v1/timers/tick", "").want(t, 404)
}

func TestCronFiresAgainAndAgain(t *testing.T) {
	t.Parallel()
	rc := receive(t, nil)
	ts := start(t, nil)
	ts.do("PUT", "/v1/timers/c", fmt.Sprintf(`{"cron":"* * * * * *","tz":"Asia/Kolkata","webhook":{"url":%q}}`, rc.URL)).want(t, 201)
	eventually(t, func() bool { return len(rc.got()) == 2 })
	for _, r := range rc.got() {
		if late := r.at.Sub(r.at.Truncate(time.Second)); late > 500*time.Millisecond {
			t.Errorf("sent %v after the second", late)
		}
	}
	got := into[Timer](t, ts.do("GET", "/v1/timers/c", "").want(t, 200))
	if got.Cron != "* * * * * *" || got.TZ != "Asia/Kolkata" || !got.At.Equal(got.At.Truncate(time.Second)) {
		t.Errorf("%+v", got)
	}
	ts.do("DELETE", "/v1/timers/c", "").want(t, 200)
}

// A receiver that hangs, with many timers, does not hold up those of another one.
func TestOneBadReceiverDoesNotHoldUpOthers(t *testing.T) {
	block := make(chan bool)
	bad := receive(t, func(int, http.ResponseWriter, *http.Request) { <-block })
	good := receive(t, nil)
	ts := start(t, func(c *Config) { c.Concurrency, c.Attempts = 8, -1 })
	defer close(block)
	const n = 300
	for i := range n {
		ts.do("PUT", fmt.Sprintf("/v1/timers/bad-%d", i), hook(bad.URL, "")).want(t, 201)
	}
	eventually(t, func() bool { _, waiting := ts.s.sender.Load(); return waiting >= n-2 })
	for i := range n {
		ts.do("PUT", fmt.Sprintf("/v1/timers/good-%d", i), hook(good.URL, "")).want(t, 201)
	}
	eventually(t, func() bool { return len(good.got()) == n })
	if got := len(bad.got()); got != 2 {
		t.Errorf("the receiver that hangs has %d requests at a time, want 2 of 8", got)
	}
}

func TestSilenceOfAWebhookIsAFailure(t *testing.T) {
	block := make(chan bool)
	rc := receive(t, func(n int, _ http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			<-block
		}
	})
	defer close(block)
	ts := start(t, func(c *Config) { c.webhookLimit = 50 * time.Millisecond })
	l := listen(t, ts, "/v1/fires")
	ts.do("PUT", "/v1/timers/a", hook(rc.URL+"/path?key=geheim", "")).want(t, 201)
	if e := l.next().event; e.Outcome != "retry" || e.Status != 0 {
		t.Errorf("%+v", e)
	}
	if e := l.next().event; e.Outcome != "done" || e.Status != 200 || e.Attempt != 2 {
		t.Errorf("%+v", e)
	}
	if log := ts.log.String(); !strings.Contains(log, "no response within 50ms") || strings.Contains(log, "geheim") {
		t.Error(log)
	}
}

func TestWebhooksToThisMachineNeedPermissionIfOthersMayUseIt(t *testing.T) {
	rc := receive(t, nil)
	port := rc.URL[strings.LastIndex(rc.URL, ":"):]
	token := writeFile(t, "secret")
	auth := []string{"Authorization", "Bearer secret"}
	for _, tt := range []struct {
		allow []string
		host  string
		ok    bool
	}{
		{nil, "127.0.0.1", false},
		{nil, "localhost", false},
		{nil, "[::ffff:127.0.0.1]", false},
		{[]string{"127.0.0.0/8"}, "127.0.0.1", true},
		{[]string{"127.0.0.1"}, "127.0.0.1", true},
		{[]string{"localhost"}, "LOCALHOST", true},
		{[]string{"localhost"}, "127.0.0.1", false},
		{[]string{"10.0.0.0/8"}, "127.0.0.1", false},
	} {
		ts := start(t, func(c *Config) {
			c.Listen, c.TokenFile, c.WebhookAllow, c.Attempts = "0.0.0.0:0", token, tt.allow, 1
		})
		ts.url = "http://127.0.0.1" + ts.url[strings.LastIndex(ts.url, ":"):]
		l := listen(t, ts, "/v1/fires", auth...)
		n := len(rc.got())
		ts.do("PUT", "/v1/timers/a", hook("http://"+tt.host+port, ""), auth...).want(t, 201)
		if e := l.next().event; (e.Outcome == "done") != tt.ok || (len(rc.got()) > n) != tt.ok {
			t.Errorf("%v, %s: %+v", tt.allow, tt.host, e)
		}
		if !tt.ok {
			eventually(t, func() bool {
				return strings.Contains(ts.do("GET", "/v1/dead", "", auth...).body, "--webhook-allow")
			})
		}
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	for _, status := range []int{429, 503} {
		rc := receive(t, func(n int, w http.ResponseWriter, _ *http.Request) {
			if n == 1 {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(status)
			}
		})
		ts := start(t, nil)
		ts.do("PUT", "/v1/timers/a", hook(rc.URL, "")).want(t, 201)
		eventually(t, func() bool { return len(rc.got()) == 2 })
		got := rc.got()
		if pause := got[1].at.Sub(got[0].at); pause < time.Second {
			t.Errorf("status %d: again after %v", status, pause)
		}
		if got[0].header.Get("Webhook-Id") != got[1].header.Get("Webhook-Id") {
			t.Error("the attempts have different ids")
		}
	}
}

// A webhook that finds the queue of its host full is sent later, and uses no attempt by that.
func TestAFullQueueUsesNoAttempt(t *testing.T) {
	block := make(chan bool)
	rc := receive(t, func(int, http.ResponseWriter, *http.Request) { <-block })
	c, _ := testConfig(t)
	c.Attempts = 1
	set, err := c.check()
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(set)
	defer s.hub.Close()
	s.backend.Store(&backend{events: memoryEvents{s.hub}})
	s.sender = webhook.NewSender(webhook.Options{Policy: set.policy, Sends: 4, Room: 1}) // a host has one of the four
	store := storetest.NewMemory()
	defer store.Close()
	d, err := durable.New(store, durable.Options{Retry: c.retry(), Logger: c.Logger})
	if err != nil {
		t.Fatal(err)
	}
	s.handle(d)
	const n = 5
	for i := range n {
		timer, err := (&Spec{After: "1ms", Webhook: &Webhook{URL: rc.URL}}).timer(fmt.Sprint(i), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Schedule(t.Context(), timer); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	eventually(t, func() bool { return d.Stats().Postponed >= 2*n }) // those that find no room, again and again
	close(block)
	eventually(t, func() bool { return d.Stats().Handled == n })
	if st := d.Stats(); st.Retried != 0 || st.Died != 0 || len(rc.got()) != n {
		t.Errorf("%d attempts were repeated, %d timers died and %d webhooks were sent, want 0, 0 and %d", st.Retried, st.Died, len(rc.got()), n)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What waits for a host that hangs does not delay the end, uses no attempt, and is sent by the next process.
func TestTheEndDoesNotWaitForThoseThatWait(t *testing.T) {
	var hangs atomic.Bool
	hangs.Store(true)
	block := make(chan bool)
	rc := receive(t, func(int, http.ResponseWriter, *http.Request) {
		if hangs.Load() {
			<-block
		}
	})
	same := newPlace(t)
	ts := start(t, func(c *Config) { same(c); c.Concurrency, c.Attempts = 4, 1 })
	const n = 20
	for i := range n {
		ts.do("PUT", fmt.Sprintf("/v1/timers/%d", i), hook(rc.URL, "")).want(t, 201)
	}
	eventually(t, func() bool { _, waiting := ts.s.sender.Load(); return waiting == n-1 && len(rc.got()) == 1 })
	ended := make(chan error, 1)
	go func() { ended <- ts.end() }()
	eventually(t, func() bool { _, waiting := ts.s.sender.Load(); return waiting == 0 })
	hangs.Store(false)
	close(block)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := len(rc.got()); got != 1 {
		t.Errorf("%d webhooks were sent, want 1", got)
	}
	next := start(t, func(c *Config) { same(c); c.Attempts = 1 })
	eventually(t, func() bool { return len(rc.got()) == n })
	eventually(t, func() bool { return next.s.scheduler().Stats().Handled == n-1 })
}

// A calendar whose receiver says that it is gone ends.
func TestGoneEndsACalendar(t *testing.T) {
	rc := receive(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) })
	ts := start(t, nil)
	ts.do("PUT", "/v1/timers/c", fmt.Sprintf(`{"after":"1ms","cron":"0 3 * * *","webhook":{"url":%q}}`, rc.URL)).want(t, 201)
	eventually(t, func() bool { return ts.do("GET", "/v1/timers/c", "").status == 404 })
	if n := len(rc.got()); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// A host that has much to do gets its webhooks soon, and one that is slow does not fill the store with tries.
func TestThePauseDependsOnTheHost(t *testing.T) {
	c, _ := testConfig(t)
	c.RetryMin, c.RetryMax = time.Second, time.Hour
	s := &server{cfg: c}
	for range 100 {
		if d := s.pause(fmt.Errorf("not sent: %w", &webhook.FullError{Rounds: 3})); d < 3*time.Second || d >= 4*time.Second {
			t.Fatalf("a busy host: %v", d)
		}
		if d := s.pause(fmt.Errorf("not sent: %w", webhook.ErrSlow)); d < 30*time.Minute || d > 61*time.Minute {
			t.Fatalf("a slow host: %v", d)
		}
	}
	s.cfg.RetryMin, s.cfg.RetryMax = time.Hour, 24*time.Hour
	if d := s.pause(&webhook.FullError{Rounds: 3_000_000}); d < 12*time.Hour || d > 13*time.Hour {
		t.Errorf("a very busy host: %v", d)
	}
}
