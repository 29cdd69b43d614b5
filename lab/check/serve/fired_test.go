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

	"github.com/foliot-go/foliot/lab/check/internal/browser"
)

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
