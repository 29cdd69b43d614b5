package fix

import (
	"bytes"
	"fmt"
	"go/token"
	"strings"
	"testing"
)

// compilerNotes makes a note for each message, on lines that follow each other.
func compilerNotes(rank int, messages ...string) (notes []Note) {
	for i, m := range messages {
		notes = append(notes, Note{token.Position{Filename: "a.go", Line: i + 1, Column: 1}, m, kindOf(m), rank})
	}
	return notes
}

func printed(notes []Note, all bool) string {
	var out bytes.Buffer
	Print(&out, notes, all)
	return out.String()
}

func TestMessagesOfOneKind(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"undefined: x", "undefined: pkg.y", true},
		{"undefined: x", "t.x undefined (type T has no field or method x)", true},
		{"declared and not used: x", "declared and not used: y", true},
		{"undefined: x", "declared and not used: x", false},
		{`could not import a/b (invalid package name: "")`, `could not import a/b (no types)`, true},
		{`could not import a/b (invalid package name: "")`, `could not import a/c (invalid package name: "")`, false},
		{
			`cannot use time.NewTimer(1) (value of type *time.Timer) as *"time".Timer value in argument to borrow.Take`,
			`cannot use t (variable of type *time.Timer) as *"time".Timer value in assignment`, true,
		},
		{"cannot use a (t) as A value in assignment", "cannot use a (t) as B value in assignment", false},
	} {
		if same := kindOf(c.a) == kindOf(c.b); same != c.same {
			t.Errorf("%q and %q: kinds %q and %q", c.a, c.b, kindOf(c.a), kindOf(c.b))
		}
	}
}

func TestPrintHidesRepeatedNotes(t *testing.T) {
	var messages []string
	for i := range 40 {
		messages = append(messages, fmt.Sprintf("undefined: x%d", i))
	}
	notes := compilerNotes(rankFirst, messages...)
	want := "a.go:1:1: undefined: x0\na.go:2:1: undefined: x1\na.go:3:1: undefined: x2\nand 37 more like this\n"
	if got := printed(notes, false); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := strings.Count(printed(notes, true), "\n"); got != 40 {
		t.Errorf("all notes are %d lines, want 40", got)
	}
	if Complete(notes) {
		t.Error("40 notes of one kind are complete in 4 lines")
	}
	if got := printed(notes[:4], false); strings.Contains(got, "more") || !Complete(notes[:4]) {
		t.Errorf("a line stands for a single note:\n%s", got)
	}
}

func TestPrintHidesMoreKinds(t *testing.T) {
	var messages []string
	for i := range 10 {
		messages = append(messages, fmt.Sprintf("message %c", 'a'+i))
	}
	notes := compilerNotes(rankFirst, messages...)
	if got := printed(notes, false); !strings.HasSuffix(got, "message h\nand 2 more of 2 other kinds\n") || Complete(notes) {
		t.Errorf("got\n%s", got)
	}
}

func TestPrintShowsCausesFirst(t *testing.T) {
	var notes []Note
	notes = append(notes, compilerNotes(rankFollows, "undefined: a.X", "undefined: a.Y")...)
	notes = append(notes, compilerNotes(rankFirst, "message", "undefined: b", "undefined: c")...)
	notes = append(notes, compilerNotes(rankSyntax, "expected declaration")...)
	notes = append(notes, Note{Text: "x: no such package", kind: "could not import x", rank: rankImport})
	notes = append(notes, Note{token.Position{Filename: "b.go", Line: 1, Column: 8}, "could not import x", "could not import x", rankImport})
	want := `x: no such package
b.go:1:8: could not import x
a.go:1:1: expected declaration
a.go:2:1: undefined: b
a.go:3:1: undefined: c
a.go:1:1: message
a.go:1:1: undefined: a.X
a.go:2:1: undefined: a.Y
`
	if got := printed(notes, false); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
