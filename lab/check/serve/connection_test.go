//go:build browser

package serve

import (
	"encoding/json"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/foliot-go/foliot/lab/check/internal/browser"
)

var reload = chromedp.Reload()

// quote returns a string of JavaScript.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // it is a string
	}
	return string(b)
}

func TestBrowserAsksForTheTokenOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first-s3cret")
	s := newServer(t, "--token-file", file)
	s.token = "first-s3cret"
	p := &tab{browser.Visit(t, browser.Desktop, s.url+"/"), t}
	const asks = `!document.getElementById("gate").hidden && document.getElementById("main").hidden`
	const lives = `document.documentElement.dataset.state === "live" && document.getElementById("gate").hidden`
	p.until(asks)
	p.until(`document.activeElement === field("Token")`)
	p.CheckAccessible(t)
	p.Press(t, "wrong")
	p.Press(t, kb.Enter)
	p.until(`complaint("Token").includes("refused")`)
	p.fill("Token", "")
	p.Press(t, s.token)
	p.Press(t, kb.Enter)
	p.until(lives)
	p.Do(t, reload)
	p.until(lives)
	if got := p.get(`localStorage.length + " " + document.cookie + " " + location.href`); strings.Contains(got, s.token) || !strings.HasPrefix(got, "0  ") {
		t.Errorf("the token is in %q", got)
	}

	// Another token: the page asks again, and keeps what was typed.
	p.fill("ID", "typed", "After", "1h", "Kind", "k")
	write("second-s3cret")
	s.reload()
	p.click("Save")
	p.until(asks)
	p.until(`complaint("Token").includes("refused the token")`)
	p.Press(t, "second-s3cret")
	p.Press(t, kb.Enter)
	p.until(lives)
	p.click("Save")
	p.until(`Boolean(row("Next timers", "typed"))`)
	p.CheckSecret(t, "s3cret")
	p.CheckQuiet(t, "401")
}

func TestBrowserSaysThatTheConnectionIsLost(t *testing.T) {
	s := newServer(t)
	s.put(`{"id":"kept","after":"1h","kind":"k"}`)
	p := s.page(t, browser.Desktop)
	p.until(`Boolean(row("Next timers", "kept"))`)
	s.stop()
	p.until(`document.getElementById("state").textContent === "Connection lost"`)
	p.until(`document.getElementById("notice").textContent.includes("cannot be reached")`)
	p.fill("ID", "typed", "After", "1h", "Kind", "k")
	p.click("Save")
	p.until(`document.getElementById("form-error").textContent.includes("still here")`)
	s.start(strings.TrimPrefix(s.url, "http://"))
	p.until(`document.documentElement.dataset.state === "live" && document.getElementById("notice").hidden`)
	if got := p.get(`field("ID").value`); got != "typed" {
		t.Errorf("the form has %q", got)
	}
	p.click("Save")
	p.until(`Boolean(row("Next timers", "typed")) && Boolean(row("Next timers", "kept"))`)
}

func TestBrowserDoesNotListenWhileThePageIsHiddenOrPaused(t *testing.T) {
	s := newServer(t)
	p := s.page(t, browser.Desktop)
	listeners := func(want string) {
		t.Helper()
		p.Until(t, `fetch("live.json").then(r => r.json()).then(s => s.serve.listeners === `+want+`)`)
	}
	listeners("1")
	hide := func(hidden string) {
		p.get(`(Object.defineProperty(document, "hidden", {value: %s, configurable: true}), document.dispatchEvent(new Event("visibilitychange")))`, hidden)
	}
	hide("true")
	listeners("0")
	s.put(`{"id":"meanwhile","after":"0s","kind":"k"}`)
	hide("false")
	listeners("1")
	p.until(`Boolean(row("Fired timers", "meanwhile"))`)
	p.click("Pause")
	listeners("0")
	p.fill("ID", "mine", "After", "1h", "Kind", "k")
	p.click("Save")
	p.until(`Boolean(row("Next timers", "mine"))`)
	p.click("Resume")
	listeners("1")
	p.CheckQuiet(t)
}

func TestBrowserShowsThePageBelowAPrefix(t *testing.T) {
	s := newServer(t)
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Path = strings.TrimPrefix(r.Out.URL.Path, "/some/timers")
		r.Out.URL.RawPath = ""
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(proxy.Close)
	p := &tab{browser.Open(t, browser.Desktop, proxy.URL+"/some/timers/"), t}
	p.fill("ID", "far", "After", "1h", "Kind", "k")
	p.click("Save")
	p.until(`Boolean(row("Next timers", "far"))`)
	p.click("Cancel far")
	p.until(`!row("Next timers", "far")`)
	p.CheckQuiet(t)
}

// The names are those that assistive technology gets.
func TestBrowserHasTheNamesOfItsParts(t *testing.T) {
	s := newServer(t, "--attempts", "1")
	s.put(`{"id":"order-17","after":"1h","kind":"k"}`, `{"id":"doomed","after":"0s","webhook":{"url":"http://127.0.0.1:1/"}}`)
	p := s.page(t, browser.Desktop)
	p.until(`Boolean(row("Dead timers", "doomed"))`)
	root, err := chromedp.Call(p.Ctx, dom.GetDocument, dom.GetDocumentParams{})
	if err != nil {
		t.Fatal(err)
	}
	for role, all := range map[string][]string{
		"textbox": {"ID", "After", "At", "Every", "Cron", "Time zone", "Webhook URL", "Kind", "Payload"},
		"button":  {"Save", "Change order-17", "Cancel order-17", "Redrive doomed", "Discard doomed"},
		"table":   {"Next timers", "Fired timers", "Dead timers"},
		"status":  {"Armed"},
	} {
		for _, name := range all {
			found, err := chromedp.Call(p.Ctx, accessibility.QueryAXTree, accessibility.QueryAXTreeParams{NodeID: root.Root.NodeID, AccessibleName: name, Role: role})
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Nodes) != 1 {
				t.Errorf("there are %d elements with the role %s and the name %s", len(found.Nodes), role, name)
			}
		}
	}
	if got := p.get(`document.getElementById("wheel").getAttribute("role") + " " + document.getElementById("wheel").getAttribute("aria-label")`); !strings.HasPrefix(got, "img ") || !strings.Contains(got, "wheel") {
		t.Errorf("the wheel is %q", got)
	}
	p.CheckQuiet(t)
}
