//go:build browser

package inspect

import (
	"context"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// patience is how long a test waits for the page to change.
const patience = 40 * time.Second

// A screen is a device and its settings.
type screen struct {
	name          string
	width, height int64
	phone         bool
	scheme        string // colour scheme: light or dark
	still         bool   // prefers reduced motion
	ground        string // the background that the page must have
}

var (
	desktop = screen{"light", 1280, 900, false, "light", false, "rgb(255, 255, 255)"}
	dark    = screen{"dark", 1280, 900, false, "dark", false, "rgb(18, 22, 28)"}
	phone   = screen{"phone", 390, 844, true, "light", false, "rgb(255, 255, 255)"}
	night   = screen{"phone-dark", 390, 844, true, "dark", false, "rgb(18, 22, 28)"}
	still   = screen{"still", 1280, 900, false, "light", true, "rgb(255, 255, 255)"}
)

// browser starts Chromium with a new profile when it is first called. All tests share it.
var browser = sync.OnceValues(func() (context.Context, error) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		return nil, fmt.Errorf("the build tag browser needs Chromium: %w", err)
	}
	profile, err := os.MkdirTemp("", "foliot-browser-")
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium),
		chromedp.UserDataDir(profile),
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
	)
	allocator, _ := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	closeBrowser = func() {
		_ = chromedp.Cancel(ctx) // waits, so that the profile can be removed
		_ = os.RemoveAll(profile)
	}
	return ctx, chromedp.Do(ctx)
})

// closeBrowser ends the browser, if there is one.
var closeBrowser = func() {}

func TestMain(m *testing.M) {
	code := m.Run()
	closeBrowser()
	os.Exit(code)
}

// A tab is an open page.
type tab struct {
	ctx      context.Context
	origin   string
	requests iter.Seq2[network.EventRequestWillBeSent, error]
	console  iter.Seq2[chromedp.ConsoleMessage, error] // including messages of the browser itself
}

// openTab opens a page and waits for the first figures.
func openTab(t *testing.T, s screen, address string) *tab {
	t.Helper()
	parent, err := browser()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(parent)
	t.Cleanup(cancel)
	var options []chromedp.EmulateViewportOption
	if s.phone {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulatePortrait, chromedp.EmulateScale(1.5))
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(s.width, s.height, options...)); err != nil {
		t.Fatal(err)
	}
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}
	if s.still {
		features = append(features, &emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"})
	}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		t.Fatal(err)
	}
	// Without it only one tab of the browser has the focus.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	scheme, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	tab := &tab{ctx, scheme + "://" + host + "/", chromedp.Events(ctx, network.RequestWillBeSent), chromedp.Console(ctx)}
	if err := chromedp.Do(ctx, chromedp.Navigate(address)); err != nil {
		t.Fatal(err)
	}
	tab.until(t, `document.documentElement.dataset.state === "live"`)
	return tab
}

// eval returns the value of an expression. If it is a promise, that of the promise.
func eval[T any](t *testing.T, tab *tab, script string) T {
	t.Helper()
	v, err := chromedp.Run(tab.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return v
}

// until waits until an expression is true.
func (tab *tab) until(t *testing.T, script string) {
	t.Helper()
	_, err := chromedp.Run(tab.ctx, chromedp.Poll[chromedp.Void](script,
		chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(patience)))
	if err != nil {
		t.Fatalf("not in %v: %s: %v; the page says %q", patience, script, err, eval[string](t, tab, `document.body.innerText`))
	}
}

// do runs actions of the user.
func (tab *tab) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(tab.ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// text returns the text of an element.
func (tab *tab) text(t *testing.T, selector string) string {
	t.Helper()
	return eval[string](t, tab, fmt.Sprintf(`document.querySelector(%q).textContent`, selector))
}

// checkQuiet checks that the page has requested nothing from elsewhere, and that the browser has logged nothing: no error
// and no violation of the content security policy. A last request and a last message end the two lists.
func (tab *tab) checkQuiet(t *testing.T) {
	t.Helper()
	const last = "end-of-test"
	eval[chromedp.Void](t, tab, `fetch("snapshot.json?`+last+`").then(r => r.text()).then(() => console.log("`+last+`"))`)
	for request, err := range tab.requests {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(request.Request.URL, last) {
			break
		}
		if !strings.HasPrefix(request.Request.URL, tab.origin) {
			t.Errorf("the page requests %s", request.Request.URL)
		}
	}
	for message, err := range tab.console {
		if err != nil {
			t.Fatal(err)
		}
		if message.Text == last {
			break
		}
		t.Errorf("the browser logs %s", message)
	}
}

// screenshots returns the folder that keeps screenshots; empty: none is kept.
func screenshots() string { return os.Getenv("FOLIOT_SCREENSHOTS") }

// screenshot takes pictures of the first screen and of the whole page, for the folder screenshots.
func (tab *tab) screenshot(t *testing.T, name string) {
	t.Helper()
	for _, shot := range []struct {
		file   string
		action chromedp.Action[[]byte]
	}{
		{"inspect-" + name + ".png", chromedp.CaptureScreenshot()},
		{"inspect-" + name + "-whole.png", chromedp.FullScreenshot(100)},
	} {
		png, err := chromedp.Run(tab.ctx, shot.action)
		if err != nil {
			t.Fatal(err)
		}
		if png, err = compress(png); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(screenshots(), shot.file), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
