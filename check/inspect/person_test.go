//go:build browser

package inspect

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var reload = chromedp.Reload()

// press presses a key and lets it go.
func (tab *tab) press(t *testing.T, key string) {
	t.Helper()
	if key != " " {
		tab.do(t, chromedp.KeyEvent(key))
		return
	}
	// KeyEvent sends the character as a separate event, which scrolls even if the page has taken the key.
	down := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: " ", Code: "Space", Text: " ", WindowsVirtualKeyCode: 32}
	up := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: " ", Code: "Space", WindowsVirtualKeyCode: 32}
	for _, event := range []input.DispatchKeyEventParams{down, up} {
		if _, err := chromedp.Call(tab.ctx, input.DispatchKeyEvent, event); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBrowserShowsThePageOnEachScreen(t *testing.T) {
	s := newSite(t, program(t))
	all := []screen{desktop, dark, phone, night}
	tabs := make(map[string]*tab) // of screenshots, with full plots
	if screenshots() != "" {
		for _, screen := range all {
			tabs[screen.name] = openTab(t, screen, s.address)
		}
		time.Sleep(70 * time.Second)
		for _, screen := range all {
			tabs[screen.name].screenshot(t, screen.name)
		}
	}
	for _, screen := range all {
		t.Run(screen.name, func(t *testing.T) {
			tab := tabs[screen.name]
			if tab == nil {
				tab = openTab(t, screen, s.address)
			}
			tab.until(t, `document.querySelectorAll("#late .column").length > 0`)
			if ground := eval[string](t, tab, `getComputedStyle(document.body).backgroundColor`); ground != screen.ground {
				t.Errorf("the page is %s, want %s", ground, screen.ground)
			}
			// Not innerWidth: it grows when a phone zooms out until everything fits.
			if width := eval[int64](t, tab, `document.documentElement.scrollWidth`); width > screen.width {
				t.Errorf("the page is %d px wide, the screen %d", width, screen.width)
			}
			beyond := eval[[]string](t, tab, fmt.Sprintf(`[...document.querySelectorAll("body *")].filter(e => !e.closest("svg, .scroll, .uplot, .unseen, .tip") &&
				e.getBoundingClientRect().right > %d).map(e => e.outerHTML.slice(0, 60))`, screen.width+1))
			if len(beyond) > 0 {
				t.Errorf("elements reach beyond the right edge: %q", beyond)
			}
			if cut := eval[[]string](t, tab, cutOff); len(cut) > 0 {
				t.Errorf("text is cut off by the edge of its picture: %q", cut)
			}
			if clashes := eval[[]string](t, tab, overlaps); len(clashes) > 0 {
				t.Errorf("texts overlap: %q", clashes)
			}
			eval[bool](t, tab, `document.querySelectorAll("details").forEach(e => e.open = true), true`)
			tab.until(t, `[...document.querySelectorAll("details")].every(e => e.querySelector("tbody tr"))`)
			if width := eval[int64](t, tab, `document.documentElement.scrollWidth`); width > screen.width {
				t.Errorf("with all tables the page is %d px wide, the screen %d", width, screen.width)
			}
			tab.checkAccessible(t)
			tab.checkQuiet(t)
		})
	}
}

const (
	// cutOff lists texts of pictures that reach beyond the edge.
	cutOff = `[...document.querySelectorAll(".picture text")].filter(e => {
		const box = e.getBoundingClientRect(), svg = e.ownerSVGElement.getBoundingClientRect();
		return box.width && (box.left < svg.left - 1 || box.right > svg.right + 1 || box.top < svg.top - 1 || box.bottom > svg.bottom + 1)
	}).map(e => e.textContent)`

	// overlaps lists pairs of texts of one picture that are drawn over each other.
	overlaps = `[...document.querySelectorAll(".picture")].flatMap(picture => {
		const texts = [...picture.querySelectorAll("text")].map(e => [e.textContent, e.getBoundingClientRect()]).filter(([, b]) => b.width);
		return texts.flatMap(([s, a], i) => texts.slice(i + 1).filter(([, b]) =>
			a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3).map(([t]) => s + " / " + t));
	})`
)

// checkAccessible has axe-core look for barriers for people with disabilities. FOLIOT_AXE names its file; without it
// nothing is checked.
func (tab *tab) checkAccessible(t *testing.T) {
	t.Helper()
	file := os.Getenv("FOLIOT_AXE")
	if file == "" {
		t.Log("axe-core is not used: FOLIOT_AXE does not name its file")
		return
	}
	axe, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	eval[chromedp.Void](t, tab, string(axe)+"\n;undefined")
	for _, v := range eval[[]string](t, tab, `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v =>
		v.impact + " " + v.id + ": " + v.help + ": " + v.nodes.map(n => n.target.join(" ")).join(", ")))`) {
		if strings.HasPrefix(v, "serious") || strings.HasPrefix(v, "critical") {
			t.Error("axe-core: " + v)
		} else {
			t.Log("axe-core: " + v)
		}
	}
}

func TestBrowserGoesThroughThePageWithTheTabKey(t *testing.T) {
	tab := openTab(t, desktop, newSite(t, program(t)).address)
	tab.until(t, `document.querySelectorAll(".owners li").length > 0 && document.querySelectorAll("#lists section").length > 1`)
	var order []string
	for range 60 {
		tab.press(t, kb.Tab)
		at := eval[[]string](t, tab, `(() => {
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
		"horizon", "horizon-table", "tiles", "late", "owners", "list-runtimes", "link", "list-workers", "list-loops", "list-queues", "A",
	}
	if !slices.Equal(order, want) {
		t.Errorf("the order is  %q\nit should be %q", order, want)
	}
	tab.checkQuiet(t)
}

func TestBrowserExplainsEverythingByKeyPointerAndTouch(t *testing.T) {
	s := newSite(t, program(t))
	tab := openTab(t, desktop, s.address)
	tab.until(t, `document.querySelectorAll("#late .column").length > 0 && document.querySelectorAll(".owners li").length > 0`)
	const shown = `document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent`

	t.Run("keys", func(t *testing.T) {
		for id, want := range map[string]string{
			"wheel": "ring of", "horizon": "due", "late": "late", "tiles": "Blocked", "rates": "armed", "wakeups": "wake-ups",
		} {
			eval[bool](t, tab, `document.getElementById("`+id+`").focus(), true`)
			tab.press(t, kb.ArrowRight)
			if got := eval[string](t, tab, shown); !strings.Contains(got, want) {
				t.Errorf("the tip of %s is %q", id, got)
			}
			if got := tab.text(t, "#said"); !strings.Contains(got, want) {
				t.Errorf("a screen reader says %q for %s", got, id)
			}
			tab.press(t, kb.Escape)
			if got := eval[string](t, tab, shown); got != "" {
				t.Errorf("after Escape the tip of %s is still there: %q", id, got)
			}
		}
		eval[bool](t, tab, `document.getElementById("runtime").focus(), true`)
		tab.press(t, kb.Tab)
		if got := eval[string](t, tab, shown); !strings.Contains(got, "Space or P") {
			t.Errorf("the tip of the button with the focus is %q", got)
		}
	})
	t.Run("keys within a ring", func(t *testing.T) {
		eval[bool](t, tab, `document.getElementById("wheel").focus(), true`)
		for range 4 {
			tab.press(t, kb.ArrowUp)
		}
		tab.press(t, kb.ArrowRight)
		if got := eval[string](t, tab, shown); !strings.Contains(got, "due in") {
			t.Errorf("the tip of a cell is %q", got)
		}
	})
	t.Run("pointer", func(t *testing.T) {
		tab.press(t, "p") // so that nothing moves away
		tab.until(t, `document.documentElement.dataset.state === "paused"`)
		for selector, want := range map[string]string{
			"#hub": "armed", "#wheel .cell": "due", "#horizon .column": "due", "#late .column": "late", ".tile": "Blocked", ".owners li": "of the timers",
			"#lists th[scope=col]": "armed", "#rates .u-over": "armed", "#rates-keys button": "hide", "#pause": "Space", "#state": "stand still",
		} {
			at := tab.middle(t, selector)
			tab.do(t, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0]-1, at[1]), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]))
			if got := eval[string](t, tab, shown); !strings.Contains(got, want) {
				t.Errorf("the tip of %s is %q", selector, got)
			}
		}
	})
	t.Run("touch", func(t *testing.T) {
		tab := openTab(t, phone, s.address)
		tab.until(t, `document.querySelectorAll("#late .column").length > 0`)
		for selector, want := range map[string]string{"#hub": "armed", "#horizon .column": "due", ".tile": "Blocked", "#rates .u-over": "armed"} {
			at := tab.middle(t, selector)
			tab.do(t, chromedp.TapXY(at[0], at[1]))
			tab.until(t, fmt.Sprintf(`(%s).includes(%q)`, shown, want))
			inside := eval[bool](t, tab, `(() => { const b = document.getElementById("tip").getBoundingClientRect(); return b.left >= 0 && b.right <= innerWidth && b.top >= 0 && b.bottom <= innerHeight })()`)
			if !inside {
				t.Errorf("the tip of %s is not on the screen", selector)
			}
		}
	})
	tab.checkQuiet(t)
}

// middle scrolls to the first visible element and returns a point in it.
func (tab *tab) middle(t *testing.T, selector string) [2]float64 {
	t.Helper()
	at := eval[[]float64](t, tab, fmt.Sprintf(`(() => {
		for (const e of document.querySelectorAll(%q)) {
			if (e.getAttribute("display") === "none" || e.getBoundingClientRect().width === 0) continue;
			e.scrollIntoView({block: "center"});
			const box = e.getBoundingClientRect();
			if (!e.matches(".cell")) return [box.left + box.width / 2, box.top + box.height / 2];
			for (let x = box.left; x < box.right; x++) // the middle of a bent shape may be outside of it
				for (let y = box.top; y < box.bottom; y++)
					if (document.elementFromPoint(x, y) === e) return [x, y];
		} // a cell may be too small for a point of the screen
		return [];
	})()`, selector))
	if len(at) != 2 {
		t.Fatalf("there is nothing to point at: %s", selector)
	}
	return [2]float64{at[0], at[1]}
}

func TestBrowserDoesNotTurnTheWheelIfMotionIsNotWanted(t *testing.T) {
	tab := openTab(t, still, newSite(t, program(t)).address)
	tab.until(t, `document.querySelectorAll("#wheel .cell").length > 0`)
	moved := eval[int](t, tab, `new Promise(done => {
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
	tab.checkQuiet(t)
}
