//go:build browser

package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/lab/check/internal/browser"
)

// busy returns a server with timers of each sort.
func busy(t *testing.T) *server {
	t.Helper()
	var calls atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/partner" && calls.Add(1)%3 != 0 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(receiver.Close)
	s := newServer(t, "--attempts", "4", "--retry-min", "100ms", "--retry-max", "200ms")
	s.put(
		`{"id":"report","cron":"0 3 * * *","tz":"Europe/Berlin","kind":"report","payload":{"to":["ops@example.com"],"format":"pdf"}}`,
		`{"id":"heartbeat","every":"3s","after":"0s","kind":"heartbeat"}`,
		`{"id":"sync-inventory","every":"2s","webhook":{"url":"`+receiver.URL+`/inventory"},"payload":{"warehouse":"north"}}`,
		`{"id":"partner-feed","every":"9s","webhook":{"url":"`+receiver.URL+`/partner"},"payload":{"feed":"prices"}}`,
		`{"id":"order-17/expire","after":"36h","webhook":{"url":"https://shop.example.com/hooks/expire"},"payload":{"order":17}}`,
		`{"id":"trial-ends/4711","after":"312h","webhook":{"url":"https://accounts.example.com/trial"},"payload":{"account":4711,"plan":"team"}}`,
		`{"id":"invoice-2291","after":"0s","webhook":{"url":"http://127.0.0.1:1/invoice"},"payload":{"invoice":2291}}`,
		`{"id":"certificate","after":"1400h","kind":"renew"}`,
	)
	var many []string
	add := func(name string, i int, after time.Duration) {
		many = append(many, fmt.Sprintf(`{"id":"%s-%04d","after":%q,"kind":"expire","payload":{"%[1]s":%[2]d}}`, name, i, after.String()))
	}
	for i := range 400 {
		add("cart", i+1000, 20*time.Minute+time.Duration(i*i)*time.Second)
	}
	for i := range 90 {
		add("session", i+5200, time.Duration(i*i)*400*time.Millisecond/3)
	}
	s.put(many...)
	return s
}

func TestBrowserShowsThePageOnEachScreen(t *testing.T) {
	s := busy(t)
	all := []browser.Screen{browser.Desktop, browser.Dark, browser.Phone, browser.Night}
	tabs := make(map[string]*tab) // of screenshots, with full plots
	if browser.Screenshots() != "" {
		for _, screen := range all {
			tabs[screen.Name] = s.page(t, screen)
		}
		time.Sleep(40 * time.Second)
		for _, screen := range all {
			tabs[screen.Name].Screenshot(t, "serve-"+screen.Name)
		}
	}
	for _, screen := range all {
		t.Run(screen.Name, func(t *testing.T) {
			p := tabs[screen.Name]
			if p == nil {
				p = s.page(t, screen)
			}
			p.t = t
			p.until(`Boolean(row("Next timers", "heartbeat")) && table("Fired timers").tBodies[0].rows.length > 0 && Boolean(row("Dead timers", "invoice-2291"))`)
			p.CheckLayout(t, screen)
			p.click("Save") // so that there are complaints
			p.until(`complaint("ID") !== ""`)
			p.CheckLayout(t, screen)
			p.CheckAccessible(t)
			p.CheckQuiet(t)
		})
	}
}

func TestBrowserDoesNotMoveIfMotionIsNotWanted(t *testing.T) {
	s := busy(t)
	p := s.page(t, browser.Still)
	p.until(`document.querySelectorAll("#wheel .cell").length > 0`)
	moving := p.get(`document.getAnimations().length`)
	if moving != "0" {
		t.Errorf("%s animations run", moving)
	}
	p.CheckQuiet(t)
}

func TestBrowserWritesTimesAndNumbersInFull(t *testing.T) {
	p := newServer(t).page(t, browser.Desktop)
	for seconds, want := range map[string]string{
		"0": "now", "5": "in 5 s", "60": "in 1 min", "117": "in 1 min 57 s", "3605": "in 1 h", "90000": "in 1 d 1 h", "-7": "overdue by 7 s", "-1e9": "overdue by 31.7 y", "1e9": "in 31.7 y",
	} {
		p.until(`import("./page/say.js").then(m => m.until(new Date(m.clock.now() + %s * 1000).toISOString()).replaceAll("\u00a0", " ") === %q)`, seconds, want)
	}
	const text = `{"n":12345678901234567890,"f":1.0,"s":"x"}`
	p.until(`import("./page/api.js").then(m => JSON.stringify(m.parse(%q)) === %[1]q)`, text)
	p.CheckQuiet(t)
}
