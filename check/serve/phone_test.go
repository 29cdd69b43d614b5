//go:build browser

package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/foliot-go/foliot/check/internal/browser"
)

func TestBrowserClosesTheFormOnAPhone(t *testing.T) {
	s := newServer(t)
	s.put(`{"id":"order-17","after":"1h","kind":"k"}`)
	p := s.page(t, browser.Phone)
	p.until(`Boolean(row("Next timers", "order-17"))`)
	p.until(`field("ID").checkVisibility() === false && button("Save").checkVisibility() === false`)
	p.CheckAccessible(t)

	// The keyboard opens it, and goes on through the fields.
	typed := map[string]string{"ID": "mine", "After": "2h", "Kind": "tea"}
	var order []string
	for range 40 {
		p.Press(t, kb.Tab)
		name := p.get(`document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent.trim()`)
		order = append(order, name)
		if text := typed[name]; text != "" {
			p.Press(t, text)
		}
		if name == "New timer" {
			p.Press(t, kb.Enter)
			p.until(`field("ID").checkVisibility()`)
		}
		if name == "Save" {
			p.Press(t, kb.Enter)
			break
		}
	}
	want := "New timer,ID,After,At,Every,Cron,Time zone,Webhook URL,Kind,Payload,Save"
	if got := strings.Join(order, ","); !strings.HasSuffix(got, want) {
		t.Fatalf("the tab key goes through %s, want %s", got, want)
	}
	p.until(`Boolean(row("Next timers", "mine"))`)

	// What needs the form opens it.
	p.get(`document.getElementById("fold").open = false`)
	p.click("Change mine")
	p.until(`field("ID").checkVisibility() && document.activeElement === field("ID") && field("ID").value === "mine"`)
	p.CheckQuiet(t)

	p = s.page(t, browser.Desktop)
	p.until(`field("ID").checkVisibility() && button("Save").checkVisibility()`)
	p.CheckQuiet(t)
}

// The events are those of the test, so that their times are known.
func TestBrowserShowsWhenAttemptsWereAndWhyTheyFailed(t *testing.T) {
	s := newServer(t)
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	const why = "dial tcp 127.0.0.1:1: connect: connection refused"
	at := time.Now().Add(-72 * time.Hour).UTC()
	mux := http.NewServeMux()
	mux.Handle("/", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}})
	mux.HandleFunc("/v1/fires", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "id: 1\nevent: fire\ndata: {\"id\":\"old\",\"attempt\":1,\"late_us\":5,\"outcome\":\"done\",\"status\":204}\n\n")
		fmt.Fprintf(w, "id: 2\nevent: fire\ndata: {\"id\":\"failed\",\"attempt\":2,\"late_us\":5,\"outcome\":\"retry\",\"status\":0,\"at\":%q,\"error\":%q}\n\n", at.Format(time.RFC3339Nano), why)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	proxy := httptest.NewServer(mux)
	t.Cleanup(proxy.Close)
	for _, screen := range []browser.Screen{browser.Desktop, browser.Phone} {
		t.Run(screen.Name, func(t *testing.T) {
			p := &tab{browser.Open(t, screen, proxy.URL+"/"), t}
			p.until(`Boolean(row("Fired timers", "failed")) && Boolean(row("Fired timers", "old"))`)
			cell := `row("Fired timers", %q).querySelector(".when").textContent`
			if got, want := p.get(cell, "failed"), p.get(`new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" }).format(new Date(%d))`, at.UnixMilli()); got != want {
				t.Errorf("the time is %q, want %q", got, want)
			}
			if got := p.get(cell, "old"); got != "" {
				t.Errorf("an event without a time has the time %q", got)
			}
			if got := p.get(`row("Fired timers", "failed").innerText`); !strings.Contains(got, why) {
				t.Errorf("the row is %q, want the error in it", got)
			}
			// A row with one line of text is not higher than that.
			if screen == browser.Desktop {
				p.until(`row("Fired timers", "old").offsetHeight < 42`)
			}
			p.CheckLayout(t, screen)
			p.CheckQuiet(t)
		})
	}
}
