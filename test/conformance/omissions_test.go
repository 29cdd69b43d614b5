package conformance

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// An omission is a part of one of Go's own tests that is left out, because it checks something that
// only the standard library has. The rest of that test runs.
type omission struct {
	pkg, test string
	what, why string

	// edit removes the part. Without an edit the part is statements that mention unexported names,
	// which rewrite removes.
	edit edit
}

// omissions lists all omissions. docs/compat.md has the same list.
var omissions = []omission{
	{
		pkg: "context", test: "TestParentFinishesChild",
		what: "the contents of the list of children of a parent",
		why:  "uses `cancelCtx`, `timerCtx` and `afterFuncCtx`, which are unexported",
	},
	{
		pkg: "context", test: "TestChildFinishesFirst",
		what: "the contents of the list of children of a parent",
		why:  "uses `cancelCtx`, which is unexported",
	},
	{
		pkg: "context", test: "TestCancelRemoves",
		what: "a parent has one child after `WithTimeout`",
		why:  "a context with a deadline is added to the list of its parent when its `Done` is called",
		edit: edit{
			file: "context_test.go",
			old:  `checkChildren("with WithTimeout child ", ctx, 1)`,
		},
	},
}

// row returns the omission as a row of the table in docs/compat.md.
func (o omission) row() string {
	return fmt.Sprintf("| `%s` | `%s` | %s | %s |", o.pkg, o.test, o.what, o.why)
}

func TestCompatDocListsTheOmissions(t *testing.T) {
	doc, err := os.ReadFile("../../docs/compat.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed, want []string
	for line := range strings.Lines(string(doc)) {
		if strings.HasPrefix(line, "| `time` | `Test") || strings.HasPrefix(line, "| `context` | `Test") {
			listed = append(listed, strings.TrimSuffix(line, "\n"))
		}
	}
	for _, o := range omissions {
		want = append(want, o.row())
	}
	if !slices.Equal(listed, want) {
		t.Errorf("docs/compat.md lists\n%s\n\nwant\n%s",
			strings.Join(listed, "\n"), strings.Join(want, "\n"))
	}
}

func TestOnlyListedTestsLoseStatements(t *testing.T) {
	for _, s := range []suite{timeSuite, contextSuite} {
		m, err := s.read(sourceDir(t, s.pkg), goRelease(t), dropIn)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, o := range omissions {
			if o.pkg == s.pkg && o.edit.file == "" {
				want = append(want, "X"+o.test) // the part of the test in the package itself
			}
		}
		slices.Sort(want)
		if !slices.Equal(m.cutFrom, want) {
			t.Errorf("package %s: statements are removed from %v, want only from the listed %v",
				s.pkg, m.cutFrom, want)
		}
	}
}
