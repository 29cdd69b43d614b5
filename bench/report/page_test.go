package report

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/bench"
	"github.com/foliot-go/foliot/internal/look"
)

// An element is a node of the page or of a picture.
type element struct {
	name     string
	attr     map[string]string
	children []*element
	text     string // its own and that of all its children
	writing  strings.Builder
}

// parse parses the page as XML. The page is valid XML on purpose: a browser would ignore a tag that is not closed.
func parse(t testing.TB, text string) *element {
	t.Helper()
	text = strings.TrimPrefix(text, "<!DOCTYPE html>")
	d := xml.NewDecoder(strings.NewReader(text))
	root := new(element)
	stack := []*element{root}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			root.text = root.writing.String()
			return root
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attr: make(map[string]string)}
			for _, a := range token.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			top := stack[len(stack)-1]
			top.children = append(top.children, e)
			stack = append(stack, e)
		case xml.EndElement:
			e := stack[len(stack)-1]
			e.text = e.writing.String()
			stack = stack[:len(stack)-1]
			stack[len(stack)-1].writing.WriteString(e.text)
		case xml.CharData:
			stack[len(stack)-1].writing.Write(token)
		}
	}
}

// all returns the descendants that satisfy the condition, in order.
func (e *element) all(is func(*element) bool) []*element {
	var found []*element
	for _, c := range e.children {
		if is(c) {
			found = append(found, c)
		}
		found = append(found, c.all(is)...)
	}
	return found
}

func (e *element) named(names ...string) []*element {
	return e.all(func(e *element) bool { return slices.Contains(names, e.name) })
}

func (e *element) class(class string) []*element {
	return e.all(func(e *element) bool { return slices.Contains(strings.Fields(e.attr["class"]), class) })
}

func (e *element) id(t testing.TB, id string) *element {
	t.Helper()
	found := e.all(func(e *element) bool { return e.attr["id"] == id })
	if len(found) != 1 {
		t.Fatalf("%d elements have the id %q", len(found), id)
	}
	return found[0]
}

func TestPageLoadsNothing(t *testing.T) {
	page := parse(t, render(t, sample(t)))
	if n := len(page.named("script", "img", "link", "iframe", "object", "embed", "video", "audio", "base", "form", "use", "image")); n > 0 {
		t.Errorf("%d elements that load or run something", n)
	}
	for _, e := range page.all(func(*element) bool { return true }) {
		for name, value := range e.attr {
			switch {
			case strings.HasPrefix(name, "on"), name == "src", name == "srcset", name == "style":
				t.Errorf("<%s %s=%q>", e.name, name, value)
			case name == "href" && !strings.HasPrefix(value, "#"):
				t.Errorf("a link to %q", value)
			}
		}
	}
	for _, style := range page.named("style") {
		for _, load := range []string{"url(", "@import", "@font-face"} {
			if strings.Contains(style.text, load) {
				t.Errorf("the style sheet has %s", load)
			}
		}
	}
	policy := ""
	for _, meta := range page.named("meta") {
		if meta.attr["http-equiv"] == "Content-Security-Policy" {
			policy = meta.attr["content"]
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("the content security policy is %q", policy)
	}
}

func TestEveryFigureIsInTheTablesOfItsScenario(t *testing.T) {
	r := sample(t)
	page := parse(t, render(t, r))
	pal := newPalette(r)
	sections := page.named("section")
	sections = sections[1 : len(sections)-1] // without the summary and the method
	if len(sections) != len(r.Scenarios) {
		t.Fatalf("%d sections for %d scenarios", len(sections), len(r.Scenarios))
	}
	for i, s := range r.Scenarios {
		section := sections[i]
		if got := section.named("h2")[0].text; !strings.HasPrefix(got, s.Title) {
			t.Errorf("heading %q, want %q", got, s.Title)
		}
		if !strings.Contains(section.text, s.About) || !strings.Contains(section.text, s.Error) {
			t.Errorf("%s: the description or the error is missing", s.Name)
		}
		for _, m := range s.Measures {
			if !strings.Contains(section.text, m.Name) {
				t.Errorf("%s: no measure %q", s.Name, m.Name)
			}
			for _, row := range m.Rows {
				want := look.Quantity(row.Value.Median, m.Unit)
				if row.Error != "" {
					want = row.Error
				}
				title := pal.of(row.Contender).Title
				if row.Error == "" && !slices.ContainsFunc(section.named("tr"), func(line *element) bool {
					return strings.HasPrefix(line.text, title) && slices.ContainsFunc(line.class("value"), func(v *element) bool {
						return strings.HasPrefix(v.text, want)
					})
				}) {
					t.Errorf("%s, %s: no line of %s has %q", s.Name, m.Name, title, want)
				}
				for _, note := range append(row.Notes, row.Error) {
					if !strings.Contains(section.text, note) {
						t.Errorf("%s, %s, %s: the note %q is missing", s.Name, m.Name, title, note)
					}
				}
			}
		}
		for _, p := range s.Plots {
			if !strings.Contains(section.text, p.Title) {
				t.Errorf("%s: no plot %q", s.Name, p.Title)
			}
		}
	}
	for _, contender := range r.Contenders {
		for _, part := range []string{"summary", "method"} {
			if !strings.Contains(page.id(t, part).text, contender.Title) {
				t.Errorf("%s: %q is not mentioned", part, contender.Title)
			}
		}
		if !strings.Contains(page.id(t, "method").text, contender.Version) {
			t.Errorf("the version of %q is missing", contender.Title)
		}
	}
}

func TestEveryLossOfFoliotIsNamedInTheSummary(t *testing.T) {
	r := sample(t)
	page := parse(t, render(t, r))
	var losses, wins, evens int
	for _, s := range r.Scenarios {
		for _, m := range s.Measures {
			for _, row := range m.Rows {
				if newPalette(r).of(row.Contender).Kind != bench.Ours || row.Ratio.Rounds == 0 || row.Ratio.Median == 0 {
					continue
				}
				switch {
				case row.Ratio.Median < 0.95 && row.Ratio.Max < 1:
					losses++
				case row.Ratio.Median > 1.05 && row.Ratio.Min > 1:
					wins++
				default:
					evens++
				}
			}
		}
	}
	if losses == 0 || wins == 0 || evens == 0 {
		t.Fatal("the sample lacks wins, losses or even results")
	}
	items := page.id(t, "worse").named("li")
	if len(items) != losses {
		t.Errorf("%d losses are listed, want %d", len(items), losses)
	}
	for _, item := range items {
		if !strings.Contains(item.text, "worse") || !strings.Contains(item.text, "▼") {
			t.Errorf("not marked as a loss: %q", item.text)
		}
	}
	want := []string{look.Number(float64(wins)) + "better ▲", look.Number(float64(losses)) + "worse ▼", look.Number(float64(evens)) + "no clear difference"}
	for i, li := range page.class("tally")[0].named("li")[:3] {
		if li.text != want[i] {
			t.Errorf("tally %q, want %q", li.text, want[i])
		}
	}
}

func TestBarsOfLossesPointTheOtherWayAndSayWorse(t *testing.T) {
	spread := func(v float64) bench.Spread { return bench.Spread{Min: v * 0.98, Median: v, Max: v * 1.02, Rounds: 5} }
	m := bench.Measure{Name: "arm", Unit: "ns", Better: bench.Lower, Base: "std", Main: true}
	for name, ratio := range map[string]float64{"std": 0, "up": 2, "down": 0.5, "farup": 1000, "fardown": 0.001} {
		row := bench.Row{Contender: name, Value: spread(10)}
		if ratio > 0 {
			row.Ratio = spread(ratio)
		}
		m.Rows = append(m.Rows, row)
	}
	r := &bench.Report{Scenarios: []bench.Scenario{{Name: "s", Title: "S", Measures: []bench.Measure{m}}}}
	svg := parse(t, picture(t, r, Picture{"s", Ratios}))
	var base float64
	for _, e := range svg.class("axis") {
		base = coordinates(t, e.attr["d"])[0]
	}
	bars := svg.class("bar")
	if len(bars) != 4 {
		t.Fatalf("%d bars, want 4", len(bars))
	}
	for _, bar := range bars {
		box := bar.class("box")[0]
		x, width := float(t, box.attr["x"]), float(t, box.attr["width"])
		word := bar.class("word")[0].text
		name := bar.class("label")[0].text
		if strings.HasSuffix(name, "up") && (math.Abs(x-base) > 0.2 || !strings.Contains(word, "better")) {
			t.Errorf("%s: a bar from %v, %q; the base is at %v", name, x, word, base)
		}
		if strings.HasSuffix(name, "down") && (math.Abs(x+width-base) > 0.2 || !strings.Contains(word, "worse")) {
			t.Errorf("%s: a bar to %v, %q; the base is at %v", name, x+width, word, base)
		}
		if cut := len(bar.class("cut")) > 0; cut != strings.HasPrefix(name, "far") {
			t.Errorf("%s: cut: %v", name, cut)
		}
	}
}

func TestEarlyFiresAndFailuresAreMarked(t *testing.T) {
	r := sample(t)
	page := parse(t, render(t, r))
	early, failed := 0, 0
	for _, s := range r.Scenarios {
		for _, m := range s.Measures {
			for _, row := range m.Rows {
				if row.Early > 0 {
					early++
				}
				if row.Error != "" {
					failed++
				}
			}
		}
	}
	marked := 0
	for _, td := range page.named("td") {
		for _, e := range td.class("early") {
			if strings.HasSuffix(e.text, "fired early") {
				marked++
			}
		}
	}
	if marked != early || early == 0 {
		t.Errorf("%d cells are marked as early, want %d", marked, early)
	}
	if n := len(page.class("failed")); n != failed || failed == 0 {
		t.Errorf("%d cells are marked as failed, want %d", n, failed)
	}
}

func TestPageIsAccessible(t *testing.T) {
	page := parse(t, render(t, sample(t)))
	if n := len(page.named("h1")); n != 1 {
		t.Errorf("%d headings of the first level", n)
	}
	last := 0
	for _, h := range page.named("h1", "h2", "h3", "h4") {
		level := int(h.name[1] - '0')
		if level > last+1 {
			t.Errorf("a heading of level %d after one of level %d: %q", level, last, h.text)
		}
		last = level
	}
	for _, table := range page.named("table") {
		for _, th := range table.named("th") {
			want := "col"
			if !slices.Contains(table.named("thead")[0].named("th"), th) {
				want = "row"
			}
			if th.attr["scope"] != want {
				t.Errorf("the head %q has the scope %q, want %q", th.text, th.attr["scope"], want)
			}
		}
	}
	for _, svg := range page.class("plot") {
		if svg.attr["role"] != "img" || len(svg.attr["aria-label"]) < 20 {
			t.Errorf("a plot with role %q and label %q", svg.attr["role"], svg.attr["aria-label"])
		}
	}
	ids := make(map[string]int)
	for _, e := range page.all(func(e *element) bool { return e.attr["id"] != "" }) {
		ids[e.attr["id"]]++
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%d elements have the id %q", n, id)
		}
	}
	for _, e := range page.all(func(e *element) bool { return e.attr["href"] != "" || e.attr["aria-labelledby"] != "" }) {
		for _, id := range []string{strings.TrimPrefix(e.attr["href"], "#"), e.attr["aria-labelledby"]} {
			if id != "" && ids[id] == 0 {
				t.Errorf("<%s> refers to the missing id %q", e.name, id)
			}
		}
	}
}

func TestPageSaysHowToRepeatTheRun(t *testing.T) {
	r := sample(t)
	for mode, want := range map[string]string{
		bench.Quick: "go run ./cmd/foliot bench -n 1000000 -html report.html",
		bench.Full:  "go run ./cmd/foliot bench -full -n 1000000 -html report.html",
	} {
		r.Environment.Mode = mode
		pre := parse(t, render(t, r)).named("pre")[0]
		if pre.text != want {
			t.Errorf("%s: %q, want %q", mode, pre.text, want)
		}
	}
}
