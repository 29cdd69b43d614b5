//go:build browser

package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/foliot-go/foliot/lab/check/internal/browser"
)

func TestMain(m *testing.M) { browser.Main(m) }

var reload = chromedp.Reload()

func TestBrowserShowsThePageOnEachScreen(t *testing.T) {
	s := newSite(t, program(t))
	all := []browser.Screen{browser.Desktop, browser.Dark, browser.Phone, browser.Night}
	tabs := make(map[string]*browser.Tab) // of screenshots, with full plots
	if browser.Screenshots() != "" {
		for _, screen := range all {
			tabs[screen.Name] = browser.Open(t, screen, s.address)
		}
		time.Sleep(70 * time.Second)
		for _, screen := range all {
			tabs[screen.Name].Screenshot(t, "inspect-"+screen.Name)
		}
	}
	for _, screen := range all {
		t.Run(screen.Name, func(t *testing.T) {
			tab := tabs[screen.Name]
			if tab == nil {
				tab = browser.Open(t, screen, s.address)
			}
			tab.Until(t, `document.querySelectorAll("#late .column").length > 0`)
			tab.CheckLayout(t, screen)
			browser.Eval[bool](t, tab, `document.querySelectorAll("details").forEach(e => e.open = true), true`)
			tab.Until(t, `[...document.querySelectorAll("details")].every(e => e.querySelector("tbody tr"))`)
			if width := browser.Eval[int64](t, tab, `document.documentElement.scrollWidth`); width > screen.Width {
				t.Errorf("with all tables the page is %d px wide, the screen %d", width, screen.Width)
			}
			tab.CheckAccessible(t)
			tab.CheckQuiet(t)
		})
	}
}

func TestBrowserGoesThroughThePageWithTheTabKey(t *testing.T) {
	tab := browser.Open(t, browser.Desktop, newSite(t, program(t)).address)
	tab.Until(t, `document.querySelectorAll(".owners li").length > 0 && document.querySelectorAll("#lists section").length > 1`)
	var order []string
	for range 60 {
		tab.Press(t, kb.Tab)
		at := browser.Eval[[]string](t, tab, `(() => {
			const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
			const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
			const inside = box.bottom > 0 && box.top < innerHeight;
			const name = e === document.body ? "" : e.id || e.parentElement.id || e.getAttribute("aria-labelledby") || e.className || e.tagName;
			return [name, seen ? "" : "has no visible focus", inside ? "" : "is not on the screen"];
		})()`)
		if at[0] == "" {
			break
		}
		if at[1]+at[2] != "" {
			t.Errorf("%s %s %s", at[0], at[1], at[2])
		}
		if !slices.Contains(order, at[0]) {
			order = append(order, at[0])
		}
	}
	want := []string{
		"runtime", "pause", "wheel", "wheel-table", "rates-keys", "rates", "wakeups-keys", "wakeups", "rates-table",
		"horizon", "horizon-table", "tiles", "loads", "late", "owners", "list-runtimes", "link", "list-workers", "list-loops", "list-queues", "A",
	}
	if !slices.Equal(order, want) {
		t.Errorf("the order is  %q\nit should be %q", order, want)
	}
	tab.CheckQuiet(t)
}

func TestBrowserExplainsEverythingByKeyPointerAndTouch(t *testing.T) {
	s := newSite(t, program(t))
	tab := browser.Open(t, browser.Desktop, s.address)
	tab.Until(t, `document.querySelectorAll("#late .column").length > 0 && document.querySelectorAll(".owners li").length > 0`)
	const shown = `document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent`

	t.Run("keys", func(t *testing.T) {
		for id, want := range map[string]string{
			"wheel": "ring of", "horizon": "due", "late": "late", "tiles": "Blocked", "rates": "armed", "wakeups": "wake-ups",
		} {
			browser.Eval[bool](t, tab, `document.getElementById("`+id+`").focus(), true`)
			tab.Press(t, kb.ArrowRight)
			if got := browser.Eval[string](t, tab, shown); !strings.Contains(got, want) {
				t.Errorf("the tip of %s is %q", id, got)
			}
			if got := tab.Text(t, "#said"); !strings.Contains(got, want) {
				t.Errorf("a screen reader says %q for %s", got, id)
			}
			tab.Press(t, kb.Escape)
			if got := browser.Eval[string](t, tab, shown); got != "" {
				t.Errorf("after Escape the tip of %s is still there: %q", id, got)
			}
		}
		browser.Eval[bool](t, tab, `document.getElementById("runtime").focus(), true`)
		tab.Press(t, kb.Tab)
		if got := browser.Eval[string](t, tab, shown); !strings.Contains(got, "Space or P") {
			t.Errorf("the tip of the button with the focus is %q", got)
		}
	})
	t.Run("keys within a ring", func(t *testing.T) {
		browser.Eval[bool](t, tab, `document.getElementById("wheel").focus(), true`)
		for range 4 {
			tab.Press(t, kb.ArrowUp)
		}
		tab.Press(t, kb.ArrowRight)
		if got := browser.Eval[string](t, tab, shown); !strings.Contains(got, "due in") {
			t.Errorf("the tip of a cell is %q", got)
		}
	})
	t.Run("pointer", func(t *testing.T) {
		tab.Press(t, "p") // so that nothing moves away
		tab.Until(t, `document.documentElement.dataset.state === "paused"`)
		for selector, want := range map[string]string{
			"#hub": "armed", "#wheel .cell": "due", "#horizon .column": "due", "#late .column": "late", ".tile": "Blocked", ".owners li": "of the timers", ".loads li": "of the armed timers",
			"#lists th[scope=col]": "armed", "#rates .u-over": "armed", "#rates-keys button": "hide", "#pause": "Space", "#state": "stand still",
		} {
			at := tab.Middle(t, selector)
			tab.Do(t, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0]-1, at[1]), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]))
			if got := browser.Eval[string](t, tab, shown); !strings.Contains(got, want) {
				t.Errorf("the tip of %s is %q", selector, got)
			}
		}
	})
	t.Run("touch", func(t *testing.T) {
		tab := browser.Open(t, browser.Phone, s.address)
		tab.Until(t, `document.querySelectorAll("#late .column").length > 0`)
		for selector, want := range map[string]string{"#hub": "armed", "#horizon .column": "due", ".tile": "Blocked", "#rates .u-over": "armed"} {
			at := tab.Middle(t, selector)
			tab.Do(t, chromedp.TapXY(at[0], at[1]))
			tab.Until(t, fmt.Sprintf(`(%s).includes(%q)`, shown, want))
			inside := browser.Eval[bool](t, tab, `(() => { const b = document.getElementById("tip").getBoundingClientRect(); return b.left >= 0 && b.right <= innerWidth && b.top >= 0 && b.bottom <= innerHeight })()`)
			if !inside {
				t.Errorf("the tip of %s is not on the screen", selector)
			}
		}
	})
	tab.CheckQuiet(t)
}

func TestBrowserDoesNotTurnTheWheelIfMotionIsNotWanted(t *testing.T) {
	tab := browser.Open(t, browser.Still, newSite(t, program(t)).address)
	tab.Until(t, `document.querySelectorAll("#wheel .cell").length > 0`)
	moved := browser.Eval[int](t, tab, `new Promise(done => {
		const drawings = new Set(), end = performance.now() + 1500;
		const step = () => {
			drawings.add([...document.querySelectorAll("#wheel g[transform]")].map(e => e.getAttribute("transform")).join());
			performance.now() < end ? requestAnimationFrame(step) : done(drawings.size);
		};
		step();
	})`)
	if moved != 1 {
		t.Errorf("the wheel has turned %d times", moved-1)
	}
	tab.CheckQuiet(t)
}
