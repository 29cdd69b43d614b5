//go:build browser

package inspect

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/inspect"
	"github.com/foliot-go/foliot/lab/check/internal/browser"
)

// lookOfPage is an expression for all figures and the state of all pictures. It must not change during a pause.
const lookOfPage = `document.querySelector("main").innerText + [...document.querySelectorAll("svg *")].map(e =>
	["d", "transform", "height", "fill-opacity", "display"].map(a => e.getAttribute(a)).join()).join("\n")`

func TestBrowserShowsTheFiguresOfARuntime(t *testing.T) {
	s := newSite(t, inspect.Options{Runtimes: map[string]*foliot.Runtime{"few": newIdle(t)}})
	tab := browser.Open(t, browser.Desktop, s.address)
	tab.Until(t, `document.getElementById("armed").textContent === "`+strconv.Itoa(idleTimers)+`"`)
	for _, c := range []struct{ what, script, want string }{
		{"the name of the number", `document.getElementById(document.getElementById("armed").getAttribute("aria-labelledby")).textContent`, "Armed"},
		{"the cells of the wheel", `[...document.querySelectorAll("#wheel .cell")].filter(e => e.getAttribute("display") !== "none").length`, "3"},
		{"the bars of the strip", `[...document.querySelectorAll("#horizon .box")].filter(e => e.getAttribute("height") > 0).length`, "3"},
		{"the owner", `document.querySelector(".owners .name").textContent`, "inspect.expireSession"},
		{"the share of the owner", `document.querySelector(".owners .share").textContent`, "100 %"},
		{"the histogram", `document.querySelector("#late .empty").textContent`, "No timer has fired yet."},
		{"the chooser for one runtime", `document.getElementById("chooser").hidden`, "true"},
		{"the role of the wheel", `document.getElementById("wheel").getAttribute("role")`, "img"},
	} {
		if got := strings.ReplaceAll(browser.Eval[string](t, tab, "String("+c.script+")"), "\u00a0", " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	if name := browser.Eval[string](t, tab, `document.getElementById("wheel").getAttribute("aria-label")`); !strings.Contains(name, "wheel") {
		t.Errorf("the name of the wheel is %q", name)
	}
	tab.CheckQuiet(t)
}

func TestBrowserShowsThatFiguresChange(t *testing.T) {
	tab := browser.Open(t, browser.Desktop, newSite(t, program(t)).address)
	tab.Until(t, `Number(document.getElementById("armed").textContent.replaceAll(",", "")) > 1000`)
	for _, selector := range []string{"#armed", "#rates-keys", "#wakeups-keys", "#late-table", "#lists"} {
		before := tab.Text(t, selector)
		tab.Until(t, fmt.Sprintf(`document.querySelector(%q).textContent !== %q`, selector, before))
	}
	// Between two snapshots the wheel turns.
	turns := `[...document.querySelectorAll("#wheel g[transform]")].map(e => e.getAttribute("transform")).join()`
	before := browser.Eval[string](t, tab, turns)
	tab.Until(t, turns+" !== "+strconv.Quote(before))
	for _, rate := range browser.Eval[[]string](t, tab, `[...document.querySelectorAll("#rates-keys .value")].map(e => e.textContent)`) {
		if n, _ := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSuffix(rate, "\u00a0/s"), ",", ""), 64); n <= 0 {
			t.Errorf("a rate of a busy runtime is %q", rate)
		}
	}
	for title, want := range map[string]string{"loops": `^scripts runs 2 41\.7 d 0 0$`, "queues": `^retries 5 2 1(\.\d+)? h ago$`} {
		row := browser.Eval[string](t, tab, `[...document.querySelector("section[aria-labelledby=list-`+title+`] tbody tr").cells].map(e => e.textContent).join(" ")`)
		if got := strings.ReplaceAll(row, "\u00a0", " "); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("the row of %s is %q, want %q", title, got, want)
		}
	}
	tab.CheckQuiet(t)
}

func TestBrowserPauses(t *testing.T) {
	s := newSite(t, program(t))
	tab := browser.Open(t, browser.Desktop, s.address)
	toggles := []struct {
		name string
		do   func()
	}{
		{"button", func() { browser.Eval[bool](t, tab, `document.getElementById("pause").click(), true`) }},
		{"P", func() { tab.Press(t, "p") }},
		{"Space", func() { tab.Press(t, " ") }},
		{"Space on the button", func() {
			browser.Eval[bool](t, tab, `document.getElementById("pause").focus(), true`)
			tab.Press(t, " ")
		}},
		{"Space on the wheel", func() {
			browser.Eval[bool](t, tab, `document.getElementById("wheel").focus(), true`)
			tab.Press(t, " ")
		}},
	}
	for _, toggle := range toggles {
		t.Run(toggle.name, func(t *testing.T) {
			toggle.do()
			tab.Until(t, `document.documentElement.dataset.state === "paused"`)
			waitFor(t, "the server has no stream", func() bool { return s.streams.Load() == 0 })
			before := browser.Eval[string](t, tab, lookOfPage)
			time.Sleep(700 * time.Millisecond)
			if after := browser.Eval[string](t, tab, lookOfPage); after != before {
				t.Errorf("the page changes during a pause:\n%s", difference(before, after))
			}
			toggle.do()
			tab.Until(t, `document.documentElement.dataset.state === "live"`)
			tab.Until(t, lookOfPage+" !== "+strconv.Quote(before))
		})
	}
	if scrolled := browser.Eval[float64](t, tab, `scrollY`); scrolled != 0 {
		t.Errorf("Space scrolls the page by %v", scrolled)
	}
	tab.CheckQuiet(t)
}

// difference returns the first lines in which two texts differ.
func difference(a, b string) string {
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(left), len(right)) {
		if left[i] != right[i] {
			return left[i] + "\n" + right[i]
		}
	}
	return fmt.Sprintf("%d and %d lines", len(left), len(right))
}

// waitFor waits until a condition of this process holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(browser.Patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in %v: %s", browser.Patience, what)
		}
	}
}

func TestBrowserDoesNotListenWhileThePageIsHidden(t *testing.T) {
	s := newSite(t, inspect.Options{Runtimes: map[string]*foliot.Runtime{"few": newIdle(t)}})
	tab := browser.Open(t, browser.Desktop, s.address)
	hide := func(hidden bool) {
		browser.Eval[bool](t, tab, fmt.Sprintf(`Object.defineProperty(document, "hidden", {value: %v, configurable: true}),
			document.dispatchEvent(new Event("visibilitychange"))`, hidden))
	}
	hide(true)
	waitFor(t, "the server has no stream", func() bool { return s.streams.Load() == 0 })
	hide(false)
	waitFor(t, "the server has a stream", func() bool { return s.streams.Load() == 1 })
	tab.Until(t, `document.documentElement.dataset.state === "live"`)
	tab.CheckQuiet(t)
}

func TestBrowserConnectsAgainAfterARestart(t *testing.T) {
	s := newSite(t, program(t))
	tab := browser.Open(t, browser.Desktop, s.address)
	s.stop()
	tab.Until(t, `document.documentElement.dataset.state === "lost"`)
	if said := tab.Text(t, "#state"); said != "Connection lost" {
		t.Errorf("the page says %q", said)
	}
	before := tab.Text(t, "#armed")
	s.start(t, strings.TrimSuffix(strings.TrimPrefix(s.address, "http://"), prefix))
	tab.Until(t, `document.documentElement.dataset.state === "live"`)
	tab.Until(t, `document.getElementById("armed").textContent !== `+strconv.Quote(before))
}

func TestBrowserConnectsAgainIfNothingComes(t *testing.T) {
	s := newSite(t, program(t))
	tab := browser.Open(t, browser.Desktop, s.address)
	tab.Until(t, `document.querySelectorAll("#late .column").length > 0`)
	time.Sleep(time.Second) // so that the page knows how fast snapshots come
	s.mute()
	before := tab.Text(t, "#armed")
	waitFor(t, "the page connects again", func() bool { return s.opened.Load() == 2 })
	tab.Until(t, `document.documentElement.dataset.state === "live"`)
	tab.Until(t, `document.getElementById("armed").textContent !== `+strconv.Quote(before))
	tab.CheckQuiet(t)
}

func TestBrowserChoosesARuntime(t *testing.T) {
	s := newSite(t, program(t))
	tab := browser.Open(t, browser.Desktop, s.address)
	tab.Until(t, `document.getElementById("runtime").value === "default"`)
	armed := func(n string) {
		t.Helper()
		tab.Until(t, `document.getElementById("armed").textContent === "`+n+`"`)
	}
	browser.Eval[bool](t, tab, `(() => { const s = document.getElementById("runtime"); s.value = "few"; return s.dispatchEvent(new Event("change")) })()`)
	armed(strconv.Itoa(idleTimers))
	tab.Do(t, reload)
	tab.Until(t, `document.documentElement.dataset.state === "live"`)
	armed(strconv.Itoa(idleTimers))
	browser.Eval[bool](t, tab, `[...document.querySelectorAll("#lists button")].find(e => e.textContent === "none").click(), true`)
	armed("0")
	for selector, want := range map[string]string{
		"#horizon .empty": "No timer is armed.",
		"#late .empty":    "No timer has fired yet.",
		"#owners p":       "No timer is armed, so there is no function to name.",
	} {
		if got := tab.Text(t, selector); got != want {
			t.Errorf("%s says %q, want %q", selector, got, want)
		}
	}
	tab.CheckQuiet(t)
}

func TestBrowserSaysWhyFiguresAreMissing(t *testing.T) {
	closed := newRuntime(t)
	if _, err := closed.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, inspect.Options{Runtimes: map[string]*foliot.Runtime{"closed": closed, "nil": nil}})
	tab := browser.Open(t, browser.Desktop, s.address)
	for name, want := range map[string]string{"closed": "The runtime is shut down.", "nil": "There is no runtime of this name: it is nil."} {
		browser.Eval[bool](t, tab, `[...document.querySelectorAll("#lists button")].find(e => e.textContent === "`+name+`").click(), true`)
		tab.Until(t, `document.getElementById("notice").textContent === `+strconv.Quote(want))
	}
	tab.CheckQuiet(t)
}

func TestBrowserWritesNumbersAsTheCasesSay(t *testing.T) {
	cases, err := os.ReadFile("../../../inspect/testdata/numbers.json")
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, inspect.Options{Runtimes: map[string]*foliot.Runtime{"few": newIdle(t)}})
	tab := browser.Open(t, browser.Desktop, s.address)
	wrong := browser.Eval[[]string](t, tab, `import("./number.js").then(module => Object.entries(`+string(cases)+`).flatMap(([name, all]) => all.flatMap(c => {
		const got = module[name](...c.slice(0, -1)), want = c.at(-1);
		const same = typeof got === "string" ? got.replaceAll("\u00a0", " ") === want : Math.abs(got - want) < 1e-9;
		return same ? [] : [name + "(" + c.slice(0, -1) + ") = " + got + ", want " + want];
	})))`)
	for _, line := range wrong {
		t.Error(line)
	}
}

// The history of a runtime has a bound, however long the page is open.
func TestBrowserKeepsTheLastMinutesOnly(t *testing.T) {
	s := newSite(t, inspect.Options{Runtimes: map[string]*foliot.Runtime{"few": newIdle(t)}})
	tab := browser.Open(t, browser.Desktop, s.address)
	got := browser.Eval[map[string]float64](t, tab, `import("./history.js").then(({ History }) => {
		const h = new History(), result = {};
		const add = (time, n) => h.add(time, { late: [{ UpTo: 1000, Count: n }], ran: [], stats: {
			Armed: 5, Stopped: 0, Rearmed: 2 * n, Wakeups: n, TaskPolls: 0, Blocked: 0, Panics: 0, GoRescued: 0, Late: { Count: n, Max: 1000 }, Ran: { Max: 0 } } });
		for (let i = 0; i < 20000; i++) add(1000 + i / 10, i); // 10 a second, for half an hour
		result.samples = h.length;
		result.distributions = h.distributions.length;
		result.plotted = h.series(["fired"])[0].at(-1) - h.series(["fired"])[0][0];
		result.fired = h.rate("fired");
		result.armed = h.rate("new");
		result.rearmed = h.rate("rearmed");
		result.minute = h.since("fired");
		result.late = h.distribution("late", h.distributions.at(-1).late).count;
		add(4000, 30000);
		result.afterGap = h.rate("fired") === null ? 1 : 0;
		add(4001, 7); // the counter is lower: another process
		result.afterRestart = h.length;
		return result;
	})`)
	for _, c := range []struct {
		name     string
		low, top float64
	}{
		{"samples", 600, 700},
		{"distributions", 12, 14},
		{"plotted", 299, 300},
		{"fired", 9.99, 10.01},
		{"armed", 9.99, 10.01}, // as many as have fired
		{"rearmed", 19.99, 20.01},
		{"minute", 590, 600},
		{"late", 600, 651},
		{"afterGap", 1, 1},
		{"afterRestart", 1, 1},
	} {
		if v, ok := got[c.name]; !ok || v < c.low || v > c.top {
			t.Errorf("%s is %v, want %v to %v", c.name, v, c.low, c.top)
		}
	}
}

func TestBrowserFindsTheRingsOfTheWheel(t *testing.T) {
	s := newSite(t, inspect.Options{Runtimes: map[string]*foliot.Runtime{"few": newIdle(t)}})
	tab := browser.Open(t, browser.Desktop, s.address)
	for _, c := range []struct{ name, horizon, want string }{
		{"no timer", `[]`, "7 rings"},
		{
			"a tick of 16.384 µs", `[{From: -100, To: 16284, Count: 2}, {From: 16284, To: 2 ** 20, Count: 0}, {From: 2 ** 20, To: 2 ** 21, Count: 5}]`,
			"7 rings: 2 turn in 2^20, 5 turn in 2^26",
		},
		{"a tick of 1.024 µs", `[{From: -10, To: 1014, Count: 0}, {From: 2 ** 34, To: 2 ** 34 + 2 ** 28, Count: 3}]`, "7 rings: 3 turn in 2^34"},
		{"a manual clock", `[{From: 0, To: 1, Count: 1}, {From: 4096, To: 8192, Count: 4}]`, "7 rings, manual: 5 turn in 2^24"},
		{"due in a hundred years", `[{From: 2 ** 61, To: 2 ** 61 + 2 ** 56, Count: 1}]`, "8 rings: 1 turn in 2^62"},
	} {
		got := browser.Eval[string](t, tab, `import("./rings.js").then(({ rings, isManual }) => {
			const horizon = `+c.horizon+`, all = rings(horizon);
			const used = all.filter(r => r.count > 0).map(r => r.count + " turn in 2^" + Math.log2(r.turn));
			return all.length + " rings" + (isManual(horizon) ? ", manual" : "") + (used.length ? ": " + used.join(", ") : "");
		})`)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestBrowserRoundsNoShareToAllOrNone(t *testing.T) {
	tab := browser.Open(t, browser.Desktop, newSite(t, inspect.Options{Runtimes: map[string]*foliot.Runtime{"few": newIdle(t)}}).address)
	for share, want := range map[string]string{
		"0": "0 %", "0.0004": "< 0.1 %", "0.002": "0.2 %", "0.5": "50 %", "0.99": "99 %", "0.998": "99.8 %", "0.9996": "> 99.9 %", "1": "100 %",
	} {
		got := browser.Eval[string](t, tab, `import("./words.js").then(m => m.percent(`+share+`))`)
		if got = strings.ReplaceAll(got, "\u00a0", " "); got != want {
			t.Errorf("a share of %s is %q, want %q", share, got, want)
		}
	}
}

// The histogram counts durations of up to a sixteenth less than 5 ms as longer, so those of the test are far from it.
func TestBrowserCountsSlowCallbacks(t *testing.T) {
	rt := newRuntime(t)
	for _, takes := range []time.Duration{0, 10 * time.Millisecond} {
		if _, err := rt.AfterFunc(0, func() { time.Sleep(takes) }); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "the callbacks are counted", func() bool { return rt.Stats().Ran.Count() == 2 })
	want := 0
	for took, n := range rt.Stats().Ran.All() {
		if took > 5*time.Millisecond {
			want += int(n)
		}
	}
	tab := browser.Open(t, browser.Desktop, newSite(t, inspect.Options{Runtimes: map[string]*foliot.Runtime{"main": rt}}).address)
	tile := `[...document.querySelectorAll("#tiles .tile")].find(e => e.querySelector(".name").textContent.replaceAll("\u00a0", " ") === "Callbacks over 5 ms")`
	tab.Until(t, tile+`?.querySelector("output").textContent === `+strconv.Quote(strconv.Itoa(want)))
	tab.CheckQuiet(t)
}

// One goroutine arms all timers, as an accept loop does.
func TestBrowserShowsHowTheWorkIsSpread(t *testing.T) {
	uneven, err := foliot.New(foliot.Options{Workers: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { uneven.Shutdown(context.Background()) })
	const timers = 20_000
	arm(t, uneven, timers, time.Hour, 2*time.Hour, expireSession)
	if _, err := uneven.Every(5*time.Millisecond, func() {}); err != nil {
		t.Fatal(err)
	}
	ordered, err := foliot.New(foliot.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ordered.Shutdown(context.Background()) })
	site := newSite(t, inspect.Options{Runtimes: map[string]*foliot.Runtime{"uneven": uneven, "ordered": ordered}})
	tab := browser.Open(t, browser.Desktop, site.address+"#uneven")
	tab.Until(t, `document.querySelectorAll(".loads li").length === 4`)
	sum := `[...document.querySelectorAll(".loads .measure:nth-child(2) .value")].reduce((sum, e) => sum + Number(e.textContent.replaceAll(",", "")), 0)`
	tab.Until(t, fmt.Sprintf(`%s === %d`, sum, timers+1))
	tab.Until(t, `[...document.querySelectorAll(".loads .measure:nth-child(3) .value")].some(e => parseFloat(e.textContent) > 0)`)
	most := 0
	for _, w := range uneven.Stats().PerWorker {
		most = max(most, w.Armed)
	}
	if note := tab.Text(t, "#loads p"); (most > timers/2) != strings.Contains(note, "would be even") {
		t.Errorf("the busiest of four workers has %d of %d timers, and the page says %q", most, timers, note)
	}
	tab = browser.Open(t, browser.Desktop, site.address+"#ordered")
	tab.Until(t, `document.getElementById("state").textContent === "Live"`)
	if !browser.Eval[bool](t, tab, `document.getElementById("loads").hidden`) {
		t.Error("the page compares a worker with itself")
	}
	tab.CheckQuiet(t)
}

func TestBrowserSaysHowLongThePageHasListened(t *testing.T) {
	tab := browser.Open(t, browser.Desktop, newSite(t, program(t)).address)
	for _, script := range []string{`document.querySelector("#late-table thead").innerText`, `document.querySelector("#tiles .note").innerText`} {
		tab.Until(t, `/last [1-9][0-9]?\ss/.test(`+script+`)`)
	}
	tab.CheckQuiet(t)
}

func TestBrowserSaysThatTheDefaultRuntimeIsUnused(t *testing.T) {
	tab := browser.Open(t, browser.Desktop, newSite(t, inspect.Options{Runtimes: map[string]*foliot.Runtime{"default": newRuntime(t)}}).address)
	tab.Until(t, `document.getElementById("notice").innerText.includes("Options.Runtimes")`)
	rt := newRuntime(t)
	arm(t, rt, 1, time.Hour, time.Hour, closeIdle)
	tab = browser.Open(t, browser.Desktop, newSite(t, inspect.Options{Runtimes: map[string]*foliot.Runtime{"default": rt}}).address)
	tab.Until(t, `document.getElementById("armed").textContent === "1"`)
	if !browser.Eval[bool](t, tab, `document.getElementById("notice").hidden`) {
		t.Error("a runtime with a timer has a notice")
	}
}
