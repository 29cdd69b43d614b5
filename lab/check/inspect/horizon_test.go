//go:build browser

package inspect

import (
	"strconv"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/inspect"
	"github.com/foliot-go/foliot/lab/check/internal/browser"
)

// The edges of these cases are 1, 2, 4, 8 and 16.
func TestBrowserCountsEachTimerOfTheHorizonOnce(t *testing.T) {
	s := newSite(t, inspect.Options{Runtimes: map[string]*foliot.Runtime{"few": newIdle(t)}})
	tab := browser.Open(t, browser.Desktop, s.address)
	for _, c := range []struct{ name, horizon, want string }{
		{"no timer", `[]`, ""},
		{"within a part", `[{From: 2, To: 4, Count: 3}]`, "2-4: 3"},
		{"an empty bucket", `[{From: 0, To: 5, Count: 0}, {From: 5, To: 6, Count: 1}]`, "4-8: 1"},
		{"overdue", `[{From: -5, To: -2, Count: 1}, {From: -2, To: 1, Count: 1}]`, "0-1: 2"},
		{"across one edge", `[{From: 3, To: 5.5, Count: 1}]`, "2-4: about 0, 4-8: about 1"},
		{"one timer across many edges", `[{From: 1.5, To: 15, Count: 1}]`, "1.5-15: 1"},
		{"one timer from now on", `[{From: -1, To: 15, Count: 1}]`, "0-15: 1"},
		{"one timer beyond all edges", `[{From: 3, To: 90, Count: 1}, {From: 90, To: 91, Count: 2}]`, "3-90: 1, 90-Infinity: 2"},
		{"neighbours", `[{From: 1, To: 1.5, Count: 1}, {From: 1.5, To: 15, Count: 2}, {From: 15, To: 60, Count: 1}]`, "1-1.5: 1, 1.5-15: 2, 15-16: about 0, 16-Infinity: about 1"},
		{"many timers across many edges", `[{From: 1, To: 16, Count: 150}]`, "1-2: about 10, 2-4: about 20, 4-8: about 40, 8-16: about 80"},
	} {
		got := browser.Eval[string](t, tab, `import("./parts.js").then(({ parts }) => parts(`+c.horizon+`, [1, 2, 4, 8, 16])
			.filter(p => p.count > 0 || !p.exact).map(p => p.from + "-" + p.to + ": " + (p.exact ? "" : "about ") + p.count).join(", "))`)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}

	// Whole numbers, and none is lost, whatever the buckets are.
	wrong := browser.Eval[[]string](t, tab, `import("./parts.js").then(({ parts }) => {
		const wrong = [];
		for (let seed = 1; seed <= 300; seed++) {
			let state = seed, at = -1e6, sum = 0;
			const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
			const edges = Array.from({ length: 60 }, (_, i) => 1e6 * 10 ** (i / 8)), horizon = [];
			for (let i = 0; i < 30; i++) {
				const To = at + Math.ceil(10 ** (random() * 16)), Count = random() < 0.3 ? 0 : Math.floor(10 ** (random() * 5));
				horizon.push({ From: at, To, Count });
				at = To;
				sum += Count;
			}
			const all = parts(horizon, edges);
			const got = all.reduce((n, p) => n + p.count, 0);
			if (got !== sum) wrong.push("seed " + seed + ": " + got + " of " + sum);
			if (all.some((p, i) => !Number.isInteger(p.count) || p.count < 0 || p.from >= p.to || p.from !== (i ? all[i - 1].to : 0))) wrong.push("seed " + seed + ": " + JSON.stringify(all));
		}
		return wrong;
	})`)
	for _, line := range wrong {
		t.Error(line)
	}
	tab.CheckQuiet(t)
}

// The buckets near the end of the one before them cover many columns of the strip.
func TestBrowserDrawsABarForEachTimer(t *testing.T) {
	rt := newRuntime(t)
	all := []time.Duration{5 * time.Minute, 38 * time.Minute, 13 * time.Hour}
	for _, d := range all {
		arm(t, rt, 1, d, d, expireSession)
	}
	for _, screen := range []browser.Screen{browser.Desktop, browser.Phone} {
		t.Run(screen.Name, func(t *testing.T) {
			tab := browser.Open(t, screen, newSite(t, inspect.Options{Runtimes: map[string]*foliot.Runtime{"few": rt}}).address)
			tab.Until(t, `document.getElementById("armed").textContent === "3"`)
			tab.Until(t, `[...document.querySelectorAll("#horizon .column")].filter(e => e.getAttribute("display") !== "none" && e.lastChild.getAttribute("height") >= 1).length === `+strconv.Itoa(len(all)))
			browser.Eval[bool](t, tab, `document.getElementById("horizon-table").open = true`)
			tab.Until(t, `[...document.querySelectorAll("#horizon-table tbody tr")].reduce((n, row) => n + Number(row.cells[1].textContent), 0) === `+strconv.Itoa(len(all)))
			tab.CheckQuiet(t)
		})
	}
}
