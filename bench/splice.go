package bench

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Splice puts figures between two marks. The first mark has the name of a scenario and, to show only a part of it, a
// selection:
//
//	<!-- figures:growth contenders=std,foliot measures=arm_and_stop timers=10000,100000 -->
//	<!-- /figures -->
//
// A space in the name of a measure is written as an underscore. Without a selection the tables of the scenario follow
// the sentence that describes it. Four other names may stand in place of a scenario: "environment" for the conditions
// of the run, "summary" for a table of a few comparisons from all scenarios, "choice" for a table of what to use for what,
// and "worse" for a list of the figures that are worse than those of the standard library.
const (
	markBegin = "<!-- figures:"
	markClose = "-->"
	markEnd   = "<!-- /figures -->"
)

// Splice returns the page with the text between marks replaced by the figures of the report. Everything else is kept
// byte for byte.
func Splice(page []byte, r Report) ([]byte, error) {
	var out bytes.Buffer
	var open string // the mark whose end has not come yet
	for i, line := range bytes.SplitAfter(page, []byte("\n")) {
		text := strings.TrimSpace(string(line))
		begins := strings.HasPrefix(text, markBegin)
		switch {
		case begins && open != "":
			return nil, fmt.Errorf("line %d: mark %s inside mark %s", i+1, text, open)
		case begins:
			out.Write(line)
			figures, err := r.figuresFor(text)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			open = text
			out.WriteString("\n" + strings.TrimSpace(figures) + "\n\n")
		case text == markEnd && open == "":
			return nil, fmt.Errorf("line %d: %s without a beginning", i+1, markEnd)
		case text == markEnd:
			open = ""
			out.Write(line)
		case open == "":
			out.Write(line)
		}
	}
	if open != "" {
		return nil, fmt.Errorf("%s has no %s after it", open, markEnd)
	}
	return out.Bytes(), nil
}

// figuresFor returns the figures that a mark asks for.
func (r Report) figuresFor(mark string) (string, error) {
	inside, ok := strings.CutSuffix(strings.TrimPrefix(mark, markBegin), markClose)
	words := strings.Fields(inside)
	if !ok || len(words) == 0 {
		return "", fmt.Errorf("%s is not a valid mark", mark)
	}
	name, whole := words[0], len(words) == 1
	switch {
	case whole && name == "environment":
		return r.Conditions(), nil
	case whole && name == "summary":
		return r.Summary()
	case whole && name == "choice":
		return r.Choice()
	case whole && name == "worse":
		if list := r.LossList(); list != "" {
			return list, nil
		}
		return "", errors.New("the report has no comparison with the standard library")
	}
	var sel Selection
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		list := strings.Split(strings.ReplaceAll(value, "_", " "), ",")
		switch key {
		case "contenders":
			sel.Contenders = list
		case "measures":
			sel.Measures = list
		case "timers":
			for _, text := range list {
				n, err := strconv.Atoi(text)
				if err != nil {
					return "", fmt.Errorf("%s: %q is not a number of timers", mark, text)
				}
				sel.Timers = append(sel.Timers, n)
			}
		default:
			return "", fmt.Errorf("%s: unknown word %q", mark, word)
		}
	}
	i := slices.IndexFunc(r.Scenarios, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return "", fmt.Errorf("the report has no scenario %q", name)
	}
	s := r.Scenarios[i]
	table := s.Markdown(r, sel)
	if table == "" {
		return "", fmt.Errorf("%s selects nothing of the report", mark)
	}
	if whole {
		table = s.About + "\n\n" + table
	}
	return table, nil
}
