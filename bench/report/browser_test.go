//go:build browser

package report

import (
	"context"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// A screen is a device and its settings.
type screen struct {
	name          string
	width, height int64
	phone         bool
	scheme        string // colour scheme: light or dark
	media         string // print; empty: screen
	ground        string // the background that the page must have
}

var screens = []screen{
	{"desktop-light", 1280, 800, false, "light", "", "rgb(255, 255, 255)"},
	{"desktop-dark", 1280, 800, false, "dark", "", "rgb(18, 22, 28)"},
	{"phone-light", 390, 844, true, "light", "", "rgb(255, 255, 255)"},
	{"phone-dark", 390, 844, true, "dark", "", "rgb(18, 22, 28)"},
	{"paper", 794, 1123, false, "dark", "print", "rgb(255, 255, 255)"}, // A4
}

// TestBrowserShowsThePage needs Chromium, so it runs only with go test -tags browser. If FOLIOT_SCREENSHOTS names a
// directory, the screenshots are kept there.
func TestBrowserShowsThePage(t *testing.T) {
	r := sample(t)
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(render(t, r)), 0o644); err != nil {
		t.Fatal(err)
	}
	browser := startBrowser(t)
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			tab := openTab(t, browser, s, "file://"+file)

			if ground := eval[string](t, tab, `getComputedStyle(document.body).backgroundColor`); ground != s.ground {
				t.Errorf("the page is %s, want %s", ground, s.ground)
			}
			// Not innerWidth: it grows when a phone zooms out until everything fits.
			if width := eval[int64](t, tab, `document.documentElement.scrollWidth`); width > s.width {
				t.Errorf("the page is %d px wide, the screen %d", width, s.width)
			}
			beyond := eval[[]string](t, tab, `[...document.querySelectorAll("body *")].filter(e => !e.closest("svg, .scroll") &&
				e.getBoundingClientRect().right > `+strconv.FormatInt(s.width+1, 10)+`).map(e => e.outerHTML.slice(0, 60))`)
			if len(beyond) > 0 {
				t.Errorf("elements reach beyond the right edge: %q", beyond)
			}

			plots := eval[[]string](t, tab, `[...document.querySelectorAll("svg.plot")].filter(e => e.getClientRects().length).map(e => {
				const box = e.getBoundingClientRect(), inner = e.getBBox();
				const ok = box.width > 200 && box.height > 50 && inner.width > 150 && inner.height > 30;
				return (ok ? "" : "empty: ") + e.getAttribute("aria-label") })`)
			want := 1
			for _, s := range r.Scenarios {
				want += 1 + len(s.Plots)
			}
			if len(plots) != want {
				t.Errorf("%d plots are shown, want %d", len(plots), want)
			}
			for _, p := range plots {
				if strings.HasPrefix(p, "empty") {
					t.Error(p)
				}
			}

			cut := eval[[]string](t, tab, `[...document.querySelectorAll("svg.plot text")].filter(e => {
				const box = e.getBoundingClientRect(), svg = e.ownerSVGElement.getBoundingClientRect();
				return box.width && (box.left < svg.left - 1 || box.right > svg.right + 1 || box.top < svg.top - 1 || box.bottom > svg.bottom + 1)
			}).map(e => e.textContent)`)
			if len(cut) > 0 {
				t.Errorf("text is cut off by the edge of its plot: %q", cut)
			}
			if clashes := eval[[]string](t, tab, overlaps); len(clashes) > 0 {
				t.Errorf("texts overlap: %q", clashes)
			}
			tab.screenshot(t, s.name)
			tab.checkQuiet(t)
		})
	}
}

// overlaps lists pairs of texts of one plot that are drawn over each other.
const overlaps = `[...document.querySelectorAll("svg.plot")].flatMap(svg => {
	const texts = [...svg.querySelectorAll("text")].map(e => [e.textContent, e.getBoundingClientRect()]).filter(([, b]) => b.width);
	return texts.flatMap(([s, a], i) => texts.slice(i + 1).filter(([, b]) =>
		a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3).map(([t]) => s + " / " + t));
})`

// The pictures are opened as files, as <img> does.
func TestBrowserShowsEachPicture(t *testing.T) {
	r := sample(t)
	dir := t.TempDir()
	browser := startBrowser(t)
	for _, p := range Pictures(r) {
		file := filepath.Join(dir, p.File())
		if err := os.WriteFile(file, []byte(picture(t, r, p)), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, s := range screens[:2] {
			t.Run(p.File()+"/"+s.scheme, func(t *testing.T) {
				tab := openTab(t, browser, s, "file://"+file)
				shapes := eval[int](t, tab, `[...document.querySelectorAll("path, rect, text")].filter(e => e.getBoundingClientRect().width).length`)
				if shapes < 8 {
					t.Errorf("only %d shapes are drawn", shapes)
				}
				if p == (Picture{"growth", "growth"}) || p.Scenario == "" {
					tab.screenshot(t, strings.TrimSuffix(p.File(), ".svg")+"-"+s.scheme)
				}
				tab.checkQuiet(t)
			})
		}
	}
}

// startBrowser starts Chromium with a new profile, and ends it with the test.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("the build tag browser needs Chromium:", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
	)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	allocator, cancel := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	browser, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		_ = chromedp.Cancel(browser) // waits, so that the profile can be removed
		cancel()
	})
	if err := chromedp.Do(browser); err != nil {
		t.Fatal(err)
	}
	return browser
}

// A tab is an open page.
type tab struct {
	ctx      context.Context
	url      string
	requests iter.Seq2[network.EventRequestWillBeSent, error]
	console  iter.Seq2[chromedp.ConsoleMessage, error] // including messages of the browser itself
}

func openTab(t *testing.T, browser context.Context, s screen, url string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	var options []chromedp.EmulateViewportOption
	if s.phone {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulatePortrait, chromedp.EmulateScale(2))
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(s.width, s.height, options...)); err != nil {
		t.Fatal(err)
	}
	scheme := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: s.media, Features: scheme}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	tab := &tab{ctx, url, chromedp.Events(ctx, network.RequestWillBeSent), chromedp.Console(ctx)}
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	return tab
}

func eval[T any](t *testing.T, tab *tab, script string) T {
	t.Helper()
	v, err := chromedp.Run(tab.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// checkQuiet checks that the browser requested nothing but the file and logged nothing. It loads the page again and logs a
// last message: any other request before the second one for the page, and any message before the last one, is an error.
func (tab *tab) checkQuiet(t *testing.T) {
	t.Helper()
	const last = "end of test"
	if err := chromedp.Do(tab.ctx, chromedp.Reload()); err != nil {
		t.Fatal(err)
	}
	eval[chromedp.Void](t, tab, `console.log("`+last+`")`)
	loads := 0
	for request, err := range tab.requests {
		if err != nil {
			t.Fatal(err)
		}
		if request.Request.URL != tab.url {
			t.Errorf("the page requests %s", request.Request.URL)
		} else if loads++; loads == 2 {
			break
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

// screenshot takes pictures of the first screen and of the whole page. They are kept in FOLIOT_SCREENSHOTS if it is set.
func (tab *tab) screenshot(t *testing.T, name string) {
	t.Helper()
	dir := os.Getenv("FOLIOT_SCREENSHOTS")
	if dir == "" {
		dir = t.TempDir()
	}
	for file, action := range map[string]chromedp.Action[[]byte]{
		name + ".png":       chromedp.CaptureScreenshot(),
		name + "-whole.png": chromedp.FullScreenshot(100),
	} {
		png, err := chromedp.Run(tab.ctx, action)
		if err != nil {
			t.Fatal(err)
		}
		if len(png) < 1000 {
			t.Errorf("%s has %d bytes", file, len(png))
		}
		if err := os.WriteFile(filepath.Join(dir, file), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
