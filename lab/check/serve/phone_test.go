//go:build browser

package serve

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/foliot-go/foliot/lab/check/internal/browser"
)

func TestBrowserMakesATimerOnAPhone(t *testing.T) {
	s := newServer(t)
	s.put(`{"id":"order-17","after":"1h","kind":"k"}`)
	p := s.page(t, browser.Phone)
	p.until(`Boolean(row("Next timers", "order-17"))`)
	p.CheckAccessible(t)

	// The keyboard goes through the fields.
	typed := map[string]string{"ID": "mine", "After": "2h", "Kind": "tea"}
	var order []string
	for range 40 {
		p.Press(t, kb.Tab)
		name := p.get(`document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent.trim()`)
		order = append(order, name)
		if text := typed[name]; text != "" {
			p.Press(t, text)
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

	// A form that was closed opens when it is needed.
	p.get(`document.getElementById("fold").open = false`)
	p.click("Change mine")
	p.until(`field("ID").checkVisibility() && document.activeElement === field("ID") && field("ID").value === "mine"`)
	p.CheckQuiet(t)
}
