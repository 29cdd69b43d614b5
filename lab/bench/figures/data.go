package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"

	"github.com/foliot-go/foliot/lab/bench/internal/catalog"
)

// data are the samples of a run.
type data struct {
	samples map[sample]map[string][]float64 // by unit
	about   map[string]string               // what the file says about the run and the machine
}

// A sample is what the lines of one contender have in common.
type sample struct {
	name      string // of the benchmark, in lower case
	key       string // such as n=1000; empty: there is only one
	contender string
}

// read reads the lines of a run.
func read(in io.Reader, file string) (*data, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	d := &data{samples: map[sample]map[string][]float64{}, about: map[string]string{}}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if k, v, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "# "), ": "); ok {
			d.about[k] = v
		}
	}
	r := benchfmt.NewReader(bytes.NewReader(text), file)
	for r.Scan() {
		switch line := r.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, line
		case *benchfmt.Result:
			d.add(line)
		}
	}
	if r.Err() == nil && len(d.samples) == 0 {
		return nil, fmt.Errorf("%s has no benchmarks", file)
	}
	return d, r.Err()
}

// add adds a line, unless it is of another program.
func (d *data) add(line *benchfmt.Result) {
	base, parts := line.Name.Parts()
	b, ok := catalog.FromCamelCase(string(base))
	if !ok {
		return
	}
	s := sample{name: b.Name}
	var keys []string
	for _, p := range parts {
		part := string(p)
		if contender, ok := strings.CutPrefix(part, "/contender="); ok {
			s.contender = contender
		} else if strings.HasPrefix(part, "/") {
			keys = append(keys, part[1:])
		}
	}
	s.key = strings.Join(keys, "/")
	if d.samples[s] == nil {
		d.samples[s] = map[string][]float64{}
	}
	for _, v := range line.Values {
		unit, x := v.Unit, v.Value
		if v.OrigUnit != "" {
			unit, x = v.OrigUnit, v.OrigValue
		}
		d.samples[s][unit] = append(d.samples[s][unit], x)
	}
}

// keys returns the keys of a benchmark in order, numbers by their size.
func (d *data) keys(name string) (all []string) {
	for s := range d.samples {
		if s.name == name && !slices.Contains(all, s.key) {
			all = append(all, s.key)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		as, bs := strings.Split(a, "/"), strings.Split(b, "/")
		for i := range min(len(as), len(bs)) {
			if c := cmp.Compare(number(as[i]), number(bs[i])); c != 0 {
				return c
			}
			if c := strings.Compare(as[i], bs[i]); c != 0 {
				return c
			}
		}
		return len(as) - len(bs)
	})
	return all
}

// number returns the number of a key such as n=1000 or period=10µs, or 0.
func number(key string) float64 {
	_, v, _ := strings.Cut(key, "=")
	x, _ := strconv.ParseFloat(strings.TrimRight(v, "µs"), 64)
	return x
}

// contenders returns the contenders of some benchmarks, the bases first.
func (d *data) contenders(names ...string) (all []string) {
	for s := range d.samples {
		if slices.Contains(names, s.name) && !slices.Contains(all, s.contender) {
			all = append(all, s.contender)
		}
	}
	isBase := func(contender string) int {
		for _, name := range names {
			if b, _ := catalog.Find(name); b.Base == contender {
				return 0
			}
		}
		return 1
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(isBase(a)-isBase(b), catalog.Rank(a)-catalog.Rank(b))
	})
	return all
}

// A summary is the median of some rounds, with an interval: that of a confidence of 95 % if there are enough rounds, and
// otherwise from the least to the most.
type summary struct {
	median, low, high float64
	rounds            int
}

func summarize(values []float64) summary {
	sorted := slices.Sorted(slices.Values(values))
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds), 0.95)
	low, high := s.Lo, s.Hi
	if math.IsInf(low, 0) || math.IsInf(high, 0) {
		low, high = sorted[0], sorted[len(sorted)-1]
	}
	return summary{s.Center, low, high, len(values)}
}

// get returns the summary of a unit, if it was measured.
func (d *data) get(s sample, unit string) (summary, bool) {
	values := d.samples[s][unit]
	if len(values) == 0 {
		return summary{}, false
	}
	return summarize(values), true
}

// ratio returns how many times better a contender is than the base, if that was measured.
func (d *data) ratio(s sample) (summary, bool) {
	b, _ := catalog.Find(s.name)
	return d.get(s, catalog.Ratio(b.Base))
}

// format writes a number with its unit.
func format(v float64, unit string) string {
	scaled := func(steps ...any) string {
		for i := 0; i < len(steps); i += 2 {
			if limit := steps[i].(float64); v >= limit || i == len(steps)-2 {
				return digits(v/limit) + " " + steps[i+1].(string)
			}
		}
		return ""
	}
	switch {
	case catalog.IsRatio(unit):
		return digits(v) + "x"
	case strings.HasSuffix(unit, "%"):
		return digits(v) + " %"
	case strings.HasSuffix(unit, "/s"):
		return scaled(1e6, "M/s", 1e3, "k/s", 1.0, "/s")
	case unit == "ns" || strings.Contains(unit, "-ns") || strings.HasPrefix(unit, "ns/"):
		return scaled(1e9, "s", 1e6, "ms", 1e3, "µs", 1.0, "ns")
	case unit == "B" || strings.HasPrefix(unit, "B/"):
		return scaled(float64(1<<20), "MiB", float64(10<<10)/10, "KiB", 1.0, "B")
	}
	return digits(v)
}

// digits writes a number with two or three digits.
func digits(v float64) string {
	switch {
	case v >= 99.5:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 0.995 || v == 0:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.00995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// bracketed writes a ratio with its interval.
func bracketed(s summary) string {
	if s.rounds == 1 {
		return fmt.Sprintf("[%sx]", digits(s.median))
	}
	return fmt.Sprintf("[%sx, %s to %s]", digits(s.median), digits(s.low), digits(s.high))
}

// words writes a key as a reader expects it: "1,000,000 timers".
func words(key string) string {
	var all []string
	for part := range strings.SplitSeq(key, "/") {
		k, v, _ := strings.Cut(part, "=")
		switch k {
		case "":
		case "n":
			all = append(all, thousands(v)+" timers")
		case "rate":
			all = append(all, thousands(v)+" a second")
		case "depth":
			all = append(all, thousands(v)+" deep")
		case "goroutines", "producers":
			if v == "1" {
				k = strings.TrimSuffix(k, "s")
			}
			all = append(all, v+" "+k)
		case "period":
			all = append(all, strings.Replace(v, "µs", " µs", 1))
		case "parent":
			all = append(all, map[string]string{"background": "Background", "standard": "a standard context", "own": "a context of the same package"}[v])
		case "load":
			all = append(all, map[string]string{"idle": "idle process", "spinning": "one goroutine spins", "busy": "all processors busy"}[v])
		default:
			all = append(all, v)
		}
	}
	return strings.Join(all, ", ")
}

// thousands puts commas between the digits of a number.
func thousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

var errUnmeasured = errors.New("not measured")
