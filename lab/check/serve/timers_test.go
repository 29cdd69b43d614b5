//go:build browser

package serve

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/foliot-go/foliot/lab/check/internal/browser"
)

func TestBrowserMakesATimerWithTheKeyboardAlone(t *testing.T) {
	s := newServer(t)
	p := s.page(t, browser.Desktop)
	typed := map[string]string{"ID": "order-17", "After": "4s", "Kind": "tea", "Payload": `{"n": 12345678901234567890}`}
	var order []string
	for range 40 {
		p.Press(t, kb.Tab)
		name := p.get(`document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent`)
		if text := typed[name]; text != "" {
			p.Press(t, text)
		}
		order = append(order, name)
		if name == "Save" {
			p.Press(t, kb.Enter)
			break
		}
	}
	want := "ID,After,At,Every,Cron,Time zone,Webhook URL,Kind,Payload,Save"
	if got := strings.Join(order, ","); !strings.HasSuffix(got, want) {
		t.Fatalf("the tab key goes through %s, want %s", got, want)
	}
	p.until(`Boolean(row("Next timers", "order-17"))`)
	p.until(`said().includes("Saved “order-17”")`)
	if got := p.get(`row("Next timers", "order-17").innerText`); !strings.Contains(got, "in ") || !strings.Contains(got, "tea") || !strings.Contains(got, `{"n":12345678901234567890}`) {
		t.Errorf("the row is %q", got)
	}
	if got := p.get(`field("ID").value + field("Payload").value`); got != "" {
		t.Errorf("after it was saved, the form has %q", got)
	}
	p.until(`document.getElementById("armed").textContent === "1"`)

	p.until(`Boolean(row("Fired timers", "order-17"))`)
	if got := p.get(`row("Fired timers", "order-17").innerText`); !strings.Contains(got, "done") || !strings.Contains(got, "s\t") && !strings.Contains(got, "s\n") {
		t.Errorf("the row of the fire is %q", got)
	}
	p.until(`!row("Next timers", "order-17")`)
	p.until(`document.getElementById("armed").textContent === "0"`)

	// The last fires are there after a reload.
	p.Do(t, reload)
	p.until(`document.documentElement.dataset.state === "live" && Boolean(row("Fired timers", "order-17"))`)
	p.CheckQuiet(t)
}

func TestBrowserCancelsAndKeepsTheFocus(t *testing.T) {
	s := newServer(t)
	s.put(`{"id":"a","after":"1h","kind":"k"}`, `{"id":"b","after":"2h","kind":"k"}`)
	p := s.page(t, browser.Desktop)
	for _, c := range []struct{ press, focus string }{{"Cancel a", "Cancel b"}, {"Cancel b", ""}} {
		p.click(c.press)
		p.until(`!button(%q)`, c.press)
		if got := p.get(`document.activeElement.getAttribute("aria-label") ?? ""`); got != c.focus {
			t.Errorf("after %s the focus is on %q, want %q", c.press, got, c.focus)
		}
	}
	if got := p.get(`document.activeElement.textContent`); got != "Next timers" {
		t.Errorf("after the last row the focus is on %q", got)
	}
	if s.dueIn("a") != 0 || s.dueIn("b") != 0 {
		t.Error("a timer is still armed")
	}
	p.CheckQuiet(t)
}

func TestBrowserShowsWhatOthersChange(t *testing.T) {
	s := newServer(t)
	p := s.page(t, browser.Desktop)
	s.put(`{"id":"theirs","after":"1h","kind":"k"}`)
	p.until(`Boolean(row("Next timers", "theirs"))`)
	s.send("DELETE", "/v1/timers/theirs", "")
	p.until(`!row("Next timers", "theirs")`)

	// A long list comes in parts, and the filter finds the rest.
	var many []string
	for i := range 60 {
		many = append(many, `{"id":"m-`+string(rune('a'+i/26))+string(rune('a'+i%26))+`","after":"`+time.Duration(i*int(time.Minute)+int(time.Hour)).String()+`","kind":"k"}`)
	}
	s.put(many...)
	p.until(`table("Next timers").tBodies[0].rows.length === 20`)
	p.click("More timers")
	p.until(`table("Next timers").tBodies[0].rows.length === 40`)
	p.fill("Filter", "m-ch")
	p.until(`table("Next timers").tBodies[0].rows.length === 1 && Boolean(row("Next timers", "m-ch"))`)
	p.CheckQuiet(t)
}

func TestBrowserDoesNotOverwriteAChange(t *testing.T) {
	s := newServer(t)
	s.put(`{"id":"order-17","after":"1h","payload":{"big":12345678901234567890},"webhook":{"url":"https://example.com/x","headers":{"X-Key":"v"}}}`)
	p := s.page(t, browser.Desktop)
	p.click("Change order-17")
	p.until(`field("ID").value === "order-17" && field("Webhook URL").value === "https://example.com/x"`)
	s.put(`{"id":"order-17","after":"2h","payload":1,"webhook":{"url":"https://example.com/y","headers":{"X-Key":"v"}}}`)
	p.fill("After", "5m")
	p.click("Save")
	p.until(`said().includes("was changed since it was loaded")`)
	if got := p.get(`field("After").value + " " + field("Payload").value`); got != `5m {"big":12345678901234567890}` {
		t.Errorf("the form has %q after the conflict", got)
	}
	if d := s.dueIn("order-17"); d < 90*time.Minute {
		t.Errorf("the change was overwritten: the timer is due in %v", d)
	}
	p.click("Keep mine")
	p.click("Save")
	p.until(`said().includes("Changed “order-17”")`)
	_, body := s.send("GET", "/v1/timers/order-17", "")
	for _, want := range []string{`"payload":{"big":12345678901234567890}`, `"X-Key":"v"`, `https://example.com/x`} {
		if !strings.Contains(body, want) {
			t.Errorf("the timer has no %s: %s", want, body)
		}
	}
	if d := s.dueIn("order-17"); d > 6*time.Minute {
		t.Errorf("the timer is due in %v", d)
	}
	p.CheckQuiet(t, "412")
}

// A periodic timer has a new revision after each occurrence, which is no change by others.
func TestBrowserChangesABusyPeriodicTimer(t *testing.T) {
	s := newServer(t)
	s.put(`{"id":"tick","every":"400ms","kind":"old"}`)
	p := s.page(t, browser.Desktop)
	p.click("Change tick")
	p.until(`field("Every").value === "400ms"`)
	p.until(`[...table("Fired timers").tBodies[0].rows].length > 2`)
	p.fill("Every", "1h", "Kind", "new", "After", "1h")
	p.click("Save")
	p.until(`said().includes("Changed “tick”")`)
	if d := s.dueIn("tick"); d < 50*time.Minute {
		t.Errorf("the timer is due in %v", d)
	}
	p.CheckQuiet(t, "412")
}

func TestBrowserRedrivesAndDiscards(t *testing.T) {
	s := newServer(t, "--attempts", "1")
	var works atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !works.Load() {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer receiver.Close()
	s.put(`{"id":"first","after":"0s","webhook":{"url":"`+receiver.URL+`"}}`, `{"id":"second","after":"0s","webhook":{"url":"`+receiver.URL+`"}}`)
	p := s.page(t, browser.Desktop)
	p.until(`Boolean(row("Dead timers", "first")) && Boolean(row("Dead timers", "second"))`)
	if got := p.get(`row("Dead timers", "first").innerText`); !strings.Contains(got, "418") {
		t.Errorf("the row is %q, want the error in it", got)
	}
	p.until(`row("Fired timers", "first")?.innerText.includes("dead")`)
	p.click("Discard first")
	p.until(`!row("Dead timers", "first") && said().includes("Discarded “first”")`)
	works.Store(true)
	p.click("Redrive second")
	p.until(`!row("Dead timers", "second")`)
	p.until(`row("Fired timers", "second")?.innerText.includes("done")`)
	if got := p.get(`document.activeElement.textContent`); got != "Dead timers" {
		t.Errorf("after the last row the focus is on %q", got)
	}
	p.CheckQuiet(t)
}

func TestBrowserExplainsWrongValues(t *testing.T) {
	s := newServer(t)
	p := s.page(t, browser.Desktop)
	p.click("Save")
	for name, want := range map[string]string{"ID": "Name the timer", "After": "Say when", "Webhook URL": "Say what happens"} {
		p.until(`complaint(%q).includes(%q)`, name, want)
	}
	if got := p.get(`document.activeElement === field("ID")`); got != "true" {
		t.Error("the focus is not on the first wrong field")
	}
	for _, c := range []struct{ name, value, want, console string }{
		{"After", "soon", "duration", ""},
		{"At", "tomorrow", "Write a time", ""},
		{"Payload", "{", "not JSON", ""},
		{"Kind", "a b", "letters", ""},
		{"Cron", "61 * * * *", "cron", "400"},                 // only the server knows
		{"Time zone", "Mars/Base", "Time zone \"Mars", "400"}, // as above
		{"Every", "1us", "at least 1ms", "400"},               // as above
		{"Webhook URL", "http://u@x/", "user", ""},            // as above
	} {
		all := map[string]string{"ID": "x", "After": "1h", "Kind": "k", "At": "", "Every": "", "Cron": "", "Time zone": "", "Webhook URL": "", "Payload": "1"}
		switch c.name {
		case "At":
			all["After"] = ""
		case "Time zone":
			all["Cron"] = "0 3 * * *"
		case "Webhook URL":
			all["Kind"] = ""
		}
		all[c.name] = c.value
		for name, value := range all {
			p.fill(name, value)
		}
		p.click("Save")
		p.until(`complaint(%q).includes(%q)`, c.name, c.want)
		for name, value := range all {
			if got := p.get(`field(%q).value`, name); got != value {
				t.Errorf("%s was %q, and is %q after %s was refused", name, value, got, c.name)
			}
		}
	}
	if d := s.dueIn("x"); d != 0 {
		t.Error("a timer with a wrong value was stored")
	}
	p.fill("Webhook URL", "", "Kind", "k")
	if got := p.get(`complaint("Webhook URL")`); got != "" {
		t.Errorf("a field that was corrected has the complaint %q", got)
	}
	p.click("Save")
	p.until(`said().includes("Saved “x”")`)
	p.CheckQuiet(t, "400")
}

func TestBrowserShowsHostileTextAsText(t *testing.T) {
	s := newServer(t)
	ids := []string{`<img src=x onerror=alert(1)>`, `"'` + "`" + `&lt;${1}`, `a/b?c#d%2F é 🕰`, strings.Repeat("long-", 51), "\u202etxt.exe", "__proto__"}
	var timers []string
	for _, id := range ids {
		timers = append(timers, `{"id":`+quote(id)+`,"after":"1h","kind":"k","payload":{"</script><script>alert(1)</script>":`+quote(strings.Repeat("w", 3000))+`}}`)
	}
	s.put(timers...)
	p := s.page(t, browser.Phone)
	for _, id := range ids {
		p.until(`Boolean(row("Next timers", %s))`, quote(id))
	}
	if got := p.get(`table("Next timers").querySelectorAll("img, script").length`); got != "0" {
		t.Errorf("the table has %s elements of the texts", got)
	}
	p.CheckLayout(t, browser.Phone)
	p.get(`row("Next timers", %s).querySelector("[data-do=Change]").click()`, quote(ids[0]))
	p.until(`field("ID").value === %s`, quote(ids[0]))
	for _, id := range ids {
		p.get(`row("Next timers", %s).querySelector("[data-do=Cancel]").click()`, quote(id))
		p.until(`!row("Next timers", %s)`, quote(id))
	}
	p.CheckQuiet(t)
}
