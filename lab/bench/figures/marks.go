package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/foliot-go/foliot/lab/bench/internal/catalog"
)

var (
	figMark   = regexp.MustCompile(`<!-- fig (\S+) -->(.*?)<!-- /fig -->`)
	blockMark = regexp.MustCompile(`(?s)<!-- figures:(\S+) -->\n.*?<!-- /figures -->`)
	anyMark   = regexp.MustCompile(`<!-- (fig |figures:|/fig)`)
)

// fill puts the figures between the marks of a page. It returns the marks whose figures were not measured.
func (d *data) fill(page string) (filled string, missing []string, err error) {
	replaced := 0
	replace := func(marks *regexp.Regexp, begin, end string, text func(mark string) (string, error)) {
		page = marks.ReplaceAllStringFunc(page, func(all string) string {
			replaced += 2
			mark := marks.FindStringSubmatch(all)[1]
			got, failed := text(mark)
			switch {
			case errors.Is(failed, errUnmeasured):
				missing = append(missing, mark)
				return all
			case failed != nil:
				err = cmp.Or(err, fmt.Errorf("mark %s: %w", mark, failed))
				return all
			}
			return fmt.Sprintf(begin, mark) + got + end
		})
	}
	replace(figMark, "<!-- fig %s -->", "<!-- /fig -->", d.figure)
	replace(blockMark, "<!-- figures:%s -->\n", "<!-- /figures -->", d.block)
	if err == nil && len(anyMark.FindAllString(page, -1)) != replaced {
		err = errors.New("a mark has no end, or no beginning")
	}
	return page, missing, err
}

// figure returns the figure of a mark in a line.
func (d *data) figure(mark string) (string, error) {
	name, rest, _ := strings.Cut(mark, "/")
	if _, ok := catalog.Find(name); !ok {
		return "", fmt.Errorf("there is no benchmark %s", name)
	}
	var keys []string
	for {
		part, after, _ := strings.Cut(rest, "/")
		if !strings.Contains(part, "=") {
			break
		}
		keys, rest = append(keys, part), after
	}
	contender, unit, _ := strings.Cut(rest, "/")
	if catalog.Rank(contender) < 0 {
		return "", fmt.Errorf("there is no contender %q", contender)
	}
	if unit == "" {
		return "", errors.New("a unit is missing")
	}
	measured := d.keys(name)
	key := strings.Join(keys, "/")
	if key == "" && len(measured) > 1 {
		return "", fmt.Errorf("which one: %s?", strings.Join(measured, " or "))
	}
	if key == "" && len(measured) == 1 {
		key = measured[0]
	}
	units := d.samples[sample{name, key, contender}]
	if len(units) == 0 {
		return "", errUnmeasured
	}
	got, ok := d.get(sample{name, key, contender}, unit)
	if !ok {
		if catalog.IsRatio(unit) {
			return "", errUnmeasured
		}
		return "", fmt.Errorf("there is no unit %s", unit)
	}
	return format(got.median, unit), nil
}

// block returns the text of a block.
func (d *data) block(mark string) (string, error) {
	switch mark {
	case "environment":
		return d.environment()
	case "worse":
		return d.worse()
	}
	return d.table(mark)
}

// An item is a part of the mark of a table: the name of a benchmark, maybe a part of the keys that are shown, and maybe
// a unit other than the main one: short-ticks/load=idle or steady-late:p99-late-ns.
type item struct {
	catalog.Benchmark
	part, unit string
}

func parseItem(text string) (i item, err error) {
	text, i.unit, _ = strings.Cut(text, ":")
	name, part, _ := strings.Cut(text, "/")
	b, ok := catalog.Find(name)
	if !ok {
		return i, fmt.Errorf("there is no benchmark %s", name)
	}
	return item{b, part, i.unit}, nil
}

// keys returns the keys that an item shows.
func (i item) keys(d *data) []string {
	return slices.DeleteFunc(d.keys(i.Name), func(key string) bool {
		return i.part != "" && !slices.Contains(strings.Split(key, "/"), i.part)
	})
}

// table returns a table of benchmarks. The mark has its items, separated by commas.
func (d *data) table(mark string) (string, error) {
	var items []item
	var names []string
	unmeasured := false
	for text := range strings.SplitSeq(mark, ",") {
		i, err := parseItem(text)
		if err != nil {
			return "", err
		}
		items, names = append(items, i), append(names, i.Name)
		unmeasured = unmeasured || len(i.keys(d)) == 0
	}
	if unmeasured {
		return "", errUnmeasured
	}
	contenders := d.contenders(names...)
	var b strings.Builder
	fmt.Fprintf(&b, "| | %s |\n|---|%s\n", strings.Join(contenders, " | "), strings.Repeat("---:|", len(contenders)))
	for _, i := range items {
		for _, key := range i.keys(d) {
			fmt.Fprintf(&b, "| %s |", i.title(key))
			for _, contender := range contenders {
				b.WriteString(" " + d.cell(sample{i.Name, key, contender}, i) + " |")
			}
			b.WriteByte('\n')
		}
	}
	return b.String(), nil
}

// title returns the first cell of a line.
func (i item) title(key string) string {
	title := i.What
	if key != "" {
		title += ", " + words(key)
	}
	if i.unit != "" {
		short, _, _ := strings.Cut(i.unit, "-late-ns") // p99 for p99-late-ns
		title += ", " + strings.ReplaceAll(short, "-", " ")
	}
	return title
}

// cell returns a figure, and how many times better than the base it is.
func (d *data) cell(s sample, i item) string {
	v, ok := d.get(s, cmp.Or(i.unit, i.Unit))
	if !ok {
		return ""
	}
	text := format(v.median, cmp.Or(i.unit, i.Unit))
	if x, ok := d.ratio(s); ok && i.unit == "" {
		text += " " + bracketed(x)
	}
	return text
}

// complete reports whether all benchmarks were measured that are compared with the standard library.
func (d *data) complete() bool {
	for _, s := range catalog.Scenarios {
		for _, b := range s.Benchmarks {
			if isStandard(b.Base) && len(d.keys(b.Name)) == 0 {
				return false
			}
		}
	}
	return true
}

// isStandard reports whether a base is part of Go, and neither another package nor a floor.
func isStandard(base string) bool { return base == "std" || base == "goroutines" || base == "channel" }

// environment returns what is known about the run.
func (d *data) environment() (string, error) {
	if !d.complete() {
		return "", errUnmeasured
	}
	var all []string
	for _, s := range []string{
		d.about["go"], d.about["goos"] + "/" + d.about["goarch"], "GOMAXPROCS=" + d.about["gomaxprocs"],
		d.about["cpu"], d.about["memory"], d.about["kernel"],
	} {
		if s != "" {
			all = append(all, s)
		}
	}
	return fmt.Sprintf("%s. Commit %s, %s run of %s, medians of up to %s rounds.\n",
		strings.Join(all, ", "), d.about["commit"], d.about["mode"], d.about["date"], d.about["rounds"]), nil
}

// ours are the contenders that are Foliot.
var ours = []string{
	"foliot", "precise", "slack-1ms", "slack-10ms", "drop-in", "context", "tasks", "tasks-slack", "queue", "ttl", "loop", "wheel",
	"durable", "durable-nosync", "cluster", "serve",
}

// isPrice reports whether a unit is the price of an option: processor time with Precise, lateness with Slack.
func isPrice(contender, unit string) bool {
	return contender == "precise" && strings.HasPrefix(unit, "cpu-") || strings.Contains(contender, "slack") && strings.Contains(unit, "late")
}

// worse returns a list of the main figures of Foliot that are worse than those of the standard library, the worst first.
// Worse means that the median is at least 5 % off, and that the whole interval is below 1.
func (d *data) worse() (string, error) {
	if !d.complete() {
		return "", errUnmeasured
	}
	type loss struct {
		ratio float64
		line  string
	}
	var all []loss
	compared, prices := 0, 0
	for s := range d.samples {
		b, _ := catalog.Find(s.name)
		x, ok := d.ratio(s)
		if !ok || !isStandard(b.Base) || !slices.Contains(ours, s.contender) {
			continue
		}
		compared++
		if x.median > 0.95 || x.high >= 1 {
			continue
		}
		if isPrice(s.contender, b.Unit) {
			prices++
			continue
		}
		own, _ := d.get(s, b.Unit)
		base, _ := d.get(sample{s.name, s.key, b.Base}, b.Unit)
		title := b.What
		if s.key != "" {
			title += ", " + words(s.key)
		}
		all = append(all, loss{x.median, fmt.Sprintf("- `%s`: %s: %s %s, %s %s %s\n",
			s.name, title, s.contender, format(own.median, b.Unit), b.Base, format(base.median, b.Unit), bracketed(x))})
	}
	slices.SortFunc(all, func(a, b loss) int { return cmp.Or(cmp.Compare(a.ratio, b.ratio), strings.Compare(a.line, b.line)) })
	var text strings.Builder
	fmt.Fprintf(&text, "%d of %d figures, the worst first. %d more are the price of an option: processor time with `Precise`, lateness with `Slack`.\n\n",
		len(all), compared, prices)
	for _, l := range all {
		text.WriteString(l.line)
	}
	return text.String(), nil
}
