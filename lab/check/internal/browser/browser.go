//go:build browser

package browser

import (
	"context"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// Patience is how long a test waits for the page to change.
const Patience = 40 * time.Second

// A Screen is a device and its settings.
type Screen struct {
	Name          string
	Width, Height int64
	Phone         bool
	Scheme        string // colour scheme: light or dark
	Still         bool   // prefers reduced motion
	Ground        string // the background that the page must have
}

// The screens.
var (
	Desktop = Screen{"light", 1280, 900, false, "light", false, "rgb(255, 255, 255)"}
	Dark    = Screen{"dark", 1280, 900, false, "dark", false, "rgb(18, 22, 28)"}
	Phone   = Screen{"phone", 390, 844, true, "light", false, "rgb(255, 255, 255)"}
	Night   = Screen{"phone-dark", 390, 844, true, "dark", false, "rgb(18, 22, 28)"}
	Still   = Screen{"still", 1280, 900, false, "light", true, "rgb(255, 255, 255)"}
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

// Main runs the tests of a package, ends the browser, and calls what else there is to do. TestMain calls it.
func Main(m *testing.M, after ...func()) {
	code := m.Run()
	closeBrowser()
	for _, f := range after {
		f()
	}
	os.Exit(code)
}

// A Tab is an open page.
type Tab struct {
	Ctx      context.Context
	origin   string
	requests iter.Seq2[network.EventRequestWillBeSent, error]
	console  iter.Seq2[chromedp.ConsoleMessage, error] // including messages of the browser itself
}

// Open opens a page and waits for the first figures.
func Open(t *testing.T, s Screen, address string) *Tab {
	t.Helper()
	tab := Visit(t, s, address)
	tab.Until(t, `document.documentElement.dataset.state === "live"`)
	return tab
}

// Visit opens a page.
func Visit(t *testing.T, s Screen, address string) *Tab {
	t.Helper()
	parent, err := browser()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(parent)
	t.Cleanup(cancel)
	var options []chromedp.EmulateViewportOption
	if s.Phone {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulatePortrait, chromedp.EmulateScale(1.5))
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(s.Width, s.Height, options...)); err != nil {
		t.Fatal(err)
	}
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.Scheme}}
	if s.Still {
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
	tab := &Tab{ctx, scheme + "://" + host + "/", chromedp.Events(ctx, network.RequestWillBeSent), chromedp.Console(ctx)}
	if err := chromedp.Do(ctx, chromedp.Navigate(address)); err != nil {
		t.Fatal(err)
	}
	return tab
}

// Eval returns the value of an expression. If it is a promise, that of the promise.
func Eval[T any](t *testing.T, tab *Tab, script string) T {
	t.Helper()
	v, err := chromedp.Run(tab.Ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return v
}

// Until waits until an expression is true.
func (tab *Tab) Until(t *testing.T, script string) {
	t.Helper()
	_, err := chromedp.Run(tab.Ctx, chromedp.Poll[chromedp.Void](script,
		chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(Patience)))
	if err != nil {
		t.Fatalf("not in %v: %s: %v; the page says %q", Patience, script, err, Eval[string](t, tab, `document.body.innerText`))
	}
}

// Do runs actions of the user.
func (tab *Tab) Do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(tab.Ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// Text returns the text of an element.
func (tab *Tab) Text(t *testing.T, selector string) string {
	t.Helper()
	return Eval[string](t, tab, fmt.Sprintf(`document.querySelector(%q).textContent`, selector))
}

// CheckQuiet checks that the page has requested nothing from elsewhere, and that the browser has logged nothing: no error
// and no violation of the content security policy. A last request and a last message end the two lists. Messages that contain one of
// expected are what the test has caused.
func (tab *Tab) CheckQuiet(t *testing.T, expected ...string) {
	t.Helper()
	const last = "end-of-test"
	Eval[chromedp.Void](t, tab, `fetch("?`+last+`").then(r => r.text()).then(() => console.log("`+last+`"))`)
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
		if slices.ContainsFunc(expected, func(text string) bool { return strings.Contains(message.Text, text) }) {
			continue
		}
		t.Errorf("the browser logs %s", message)
	}
}

// CheckSecret checks that no request so far had a text in its address. It must be called before CheckQuiet.
func (tab *Tab) CheckSecret(t *testing.T, secret string) {
	t.Helper()
	addresses := Eval[[]string](t, tab, `performance.getEntries().map(e => e.name)`)
	for _, address := range addresses {
		if strings.Contains(address, secret) {
			t.Errorf("an address has the secret in it: %s", address)
		}
	}
}

// Screenshots returns the folder that keeps screenshots; empty: none is kept.
func Screenshots() string { return os.Getenv("FOLIOT_SCREENSHOTS") }

// Screenshot takes pictures of the first screen and of the whole page, for the folder Screenshots.
func (tab *Tab) Screenshot(t *testing.T, name string) {
	t.Helper()
	for _, shot := range []struct {
		file   string
		action chromedp.Action[[]byte]
	}{
		{name + ".png", chromedp.CaptureScreenshot()},
		{name + "-whole.png", chromedp.FullScreenshot(100)},
	} {
		png, err := chromedp.Run(tab.Ctx, shot.action)
		if err != nil {
			t.Fatal(err)
		}
		if png, err = compress(png); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(Screenshots(), shot.file), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
