package fix

import (
	"bytes"
	"fmt"
	"go/token"
	"strings"
	"testing"
)

func printed(notes []Note, all bool) string {
	var out bytes.Buffer
	Print(&out, notes, all)
	return out.String()
}

func TestPrintShowsTheFirstNotes(t *testing.T) {
	var notes []Note
	for i := range 40 {
		notes = append(notes, Note{token.Position{Filename: "a.go", Line: i + 1, Column: 1}, fmt.Sprintf("undefined: x%d", i), rankFirst})
	}
	if got := printed(notes, false); !strings.HasSuffix(got, "a.go:20:1: undefined: x19\nand 20 more; -v lists all\n") {
		t.Errorf("got\n%s", got)
	}
	if got := strings.Count(printed(notes, true), "\n"); got != 40 {
		t.Errorf("all notes are %d lines, want 40", got)
	}
	if got := printed(notes[:maxNotes+1], false); strings.Contains(got, "more") {
		t.Errorf("a line stands for a single note:\n%s", got)
	}
}

func TestPrintShowsCausesFirst(t *testing.T) {
	at := func(file string, line int) token.Position {
		return token.Position{Filename: file, Line: line, Column: 1}
	}
	notes := []Note{
		{at("a.go", 1), "undefined: a.X", rankFollows},
		{at("a.go", 3), "undefined: c", rankFirst},
		{at("a.go", 2), "undefined: b", rankFirst},
		{at("c.go", 1), "expected declaration", rankSyntax},
		{at("b.go", 1), "could not import x", rankImport},
		{token.Position{}, "x: no such package", rankImport},
	}
	want := `x: no such package
b.go:1:1: could not import x
c.go:1:1: expected declaration
a.go:2:1: undefined: b
a.go:3:1: undefined: c
a.go:1:1: undefined: a.X
`
	if got := printed(notes, false); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
