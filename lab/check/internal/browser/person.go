//go:build browser

package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// Press presses a key and lets it go.
func (tab *Tab) Press(t *testing.T, key string) {
	t.Helper()
	if key != " " {
		tab.Do(t, chromedp.KeyEvent(key))
		return
	}
	// KeyEvent sends the character as a separate event, which scrolls even if the page has taken the key.
	down := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: " ", Code: "Space", Text: " ", WindowsVirtualKeyCode: 32}
	up := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: " ", Code: "Space", WindowsVirtualKeyCode: 32}
	for _, event := range []input.DispatchKeyEventParams{down, up} {
		if _, err := chromedp.Call(tab.Ctx, input.DispatchKeyEvent, event); err != nil {
			t.Fatal(err)
		}
	}
}

// CheckAccessible has axe-core look for barriers for people with disabilities. FOLIOT_AXE names its file; without it
// nothing is checked.
func (tab *Tab) CheckAccessible(t *testing.T) {
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
	Eval[chromedp.Void](t, tab, string(axe)+"\n;undefined")
	for _, v := range Eval[[]string](t, tab, `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v =>
		v.impact + " " + v.id + ": " + v.help + ": " + v.nodes.map(n => n.target.join(" ")).join(", ")))`) {
		if strings.HasPrefix(v, "serious") || strings.HasPrefix(v, "critical") {
			t.Error("axe-core: " + v)
		} else {
			t.Log("axe-core: " + v)
		}
	}
}

// Middle scrolls to the first visible element and returns a point in it.
func (tab *Tab) Middle(t *testing.T, selector string) [2]float64 {
	t.Helper()
	at := Eval[[]float64](t, tab, fmt.Sprintf(`(() => {
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

// CheckLayout checks that a page fits its screen, and that texts of pictures are neither cut off nor over each other.
func (tab *Tab) CheckLayout(t *testing.T, screen Screen) {
	t.Helper()
	if ground := Eval[string](t, tab, `getComputedStyle(document.body).backgroundColor`); ground != screen.Ground {
		t.Errorf("the page is %s, want %s", ground, screen.Ground)
	}
	// Not innerWidth: it grows when a phone zooms out until everything fits.
	if width := Eval[int64](t, tab, `document.documentElement.scrollWidth`); width > screen.Width {
		t.Errorf("the page is %d px wide, the screen %d", width, screen.Width)
	}
	beyond := Eval[[]string](t, tab, fmt.Sprintf(`[...document.querySelectorAll("body *")].filter(e => !e.closest("svg, .scroll, .uplot, .unseen, .tip") &&
		e.getBoundingClientRect().right > %d).map(e => e.outerHTML.slice(0, 60))`, screen.Width+1))
	if len(beyond) > 0 {
		t.Errorf("elements reach beyond the right edge: %q", beyond)
	}
	if cut := Eval[[]string](t, tab, cutOff); len(cut) > 0 {
		t.Errorf("text is cut off by the edge of its picture: %q", cut)
	}
	if clashes := Eval[[]string](t, tab, overlaps); len(clashes) > 0 {
		t.Errorf("texts overlap: %q", clashes)
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
