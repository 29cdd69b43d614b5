package moves

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheMovesInThePageAreThoseOfTheCode compares the table of moves in docs/durable.md with that of
// the code.
func TestTheMovesInThePageAreThoseOfTheCode(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "durable.md"))
	if err != nil {
		t.Skip("this is not a checkout of the repository")
	}
	rows := map[string][]string{} // the cells by event
	var header []string
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		name := regexp.MustCompile("^`(\\w+)`").FindStringSubmatch(cells[0])
		switch {
		case cells[0] == "event":
			header = cells[1:]
		case !strings.HasPrefix(line, "|"):
			if len(rows) > 0 {
				header = nil
			}
		case header != nil && name != nil:
			rows[name[1]] = cells[1:]
		}
		if header == nil && len(rows) > 0 {
			break
		}
	}
	if len(rows) != int(Events) {
		t.Errorf("the page has %d events, the code has %d", len(rows), Events)
	}
	for e := range Events {
		var want []string
		for s := range States {
			to := ""
			if m := Table[s][e]; m != Illegal {
				to = m.String()
			}
			want = append(want, to)
		}
		if got := rows[e.String()]; strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%v: the page has %q, the code has %q", e, got, want)
		}
	}
}
