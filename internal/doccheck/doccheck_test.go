package doccheck

import (
	"slices"
	"strings"
	"testing"
)

const source = `package p

import (
	"sync"
	a "sync/atomic"

	"example.com/other"
)

type T[V any] struct {
	mu    sync.Mutex
	rw    sync.RWMutex
	once  sync.Once
	n     a.Int64
	p     *a.Pointer[T[V]]
	in    <-chan V
	many  [4]chan V
	x, y  int
	other other.Int64
	_     a.Bool
	inner
}

type inner struct{ done chan struct{} }

var single struct{ mu sync.Mutex }
`

// table names every shared field of source, and one that is not shared.
const table = "| field | written by |\n|---|---|\n" +
	"| `T.mu`, `rw`, `x` | `nothing.here` |\n" +
	"| `T.n`, `p`, `in`, `many` (channel) | |\n" +
	"| `p.inner.done`, `single.mu` | |\n" +
	"| all of `state` | |\n" +
	"\n| other table | |\n|---|---|\n| `no.field` | |\n"

func fieldFaults(t *testing.T, page string) []string {
	t.Helper()
	fields, err := Fields("p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return CheckFields(fields, TableFields(page, "p"))
}

func TestFieldsAndTablesAreCompared(t *testing.T) {
	for _, test := range []struct {
		name, old, new string
		want           []string
	}{
		{name: "no fault"},
		{"a mutex is missing", "`T.mu`, ", "", []string{"p.T.mu is in no table"}},
		{"an RWMutex is missing", "`rw`", "`x`", []string{"p.T.rw is in no table"}},
		{"an atomic is missing", "`T.n`, `p`", "`T.p`", []string{"p.T.n is in no table"}},
		{"an atomic pointer is missing", "`p`, ", "", []string{"p.T.p is in no table"}},
		{"a channel is missing", "`in`, ", "", []string{"p.T.in is in no table"}},
		{"an array of channels is missing", ", `many`", "", []string{"p.T.many is in no table"}},
		{"a field of a variable is missing", ", `single.mu`", "", []string{"p.single.mu is in no table"}},
		{"there is no such field", "`x`", "`z`", []string{"p.T.z is in a table"}},
		{"there is no such type", "| `T.n`", "| `U.n`, `T.n`", []string{"p.U.n is in a table"}},
		{"the field is of another package", "`p.inner.done`", "`q.inner.done`", []string{"p.inner.done is in no table", "q.inner.done is in a table"}},
		{"it is not the right table", "| field |", "| fields |", []string{"p.T.mu is in no table"}},
	} {
		got := fieldFaults(t, strings.Replace(table, test.old, test.new, 1))
		if len(test.want) == 0 && len(got) > 0 {
			t.Errorf("%s: %q", test.name, got)
		}
		for _, want := range test.want {
			if !contains(got, want) {
				t.Errorf("%s: %q, want %q", test.name, got, want)
			}
		}
	}
}

func contains(faults []string, part string) bool {
	return slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, part) })
}

var files = map[string]string{
	"README.md":       "# Top\n",
	"a.go":            "",
	"docs/page.md":    "# A page\n\n## What's new, and `old`\n",
	"docs/wheel.svg":  "",
	"pkg/deep/b.go":   "",
	"pkg/deep/b.text": "",
}

func TestPathsThatLeadNowhereAreFound(t *testing.T) {
	for _, test := range []struct{ page, want string }{
		{"`a.go` and `pkg/deep/b.go`, `b.go`, `page.md`, `docs/page.md`", ""},
		{"[x](page.md), [y](../a.go), [z](../pkg), ![p](wheel.svg), [o](https://example.com/c.go)", ""},
		{"[x](page.md#whats-new-and-old), [here](#own)\n\n## Own\n", ""},
		{"[x](https://github.com/foliot-go/foliot/blob/main/a.go)", ""},
		{"`GOROOT/src/time/tick.go`, `x.Y`, `*.go`, `go test ./a_test.go`", ""},
		{"```\n`c.go` [x](c.go)\n```\n", ""},
		{"`go test\n./loop` of `a.go`", ""},
		{"`c.go`", "no file c.go"},
		{"`pkg/b.go`", "no file pkg/b.go"},
		{"`pkg/deep/c.md` is\nmissing", "no file pkg/deep/c.md"},
		{"`docs/other.svg`", "no file docs/other.svg"},
		{"[x](design.md)", "design.md leads nowhere"},
		{"[x](a.go)", "a.go leads nowhere"},
		{"[x](../pkg/none)", "../pkg/none leads nowhere"},
		{"![x](none.svg)", "none.svg leads nowhere"},
		{"[x](https://github.com/foliot-go/foliot/blob/main/docs/c.md)", "docs/c.md leads nowhere"},
		{"[x](page.md#none)", "no section #none"},
		{"[x](#none)", "no section #none"},
	} {
		all := map[string]string{"docs/this.md": test.page}
		for name, text := range files {
			all[name] = text
		}
		check(t, test.page, CheckPaths("docs/this.md", test.page, all), test.want)
	}
}

func TestTargetsThatAreNotInTheMakefileAreFound(t *testing.T) {
	const makefile = "X := 1\n.PHONY: test\ntest: ## run\n\tgo test\nfmt-check:\n"
	for _, test := range []struct{ page, want string }{
		{"`make test`, `make fmt-check test X=2`, `make`, make sure", ""},
		{"```sh\nmake test # all of it\ngo run .\n```\n", ""},
		{"`make tests`", "no target tests"},
		{"```sh\nmake all\n```\n", "no target all"},
		{"`make test release VERSION=1`", "no target release"},
	} {
		check(t, test.page, CheckTargets("page.md", test.page, makefile), test.want)
	}
}

func TestTestsThatDoNotExistAreFound(t *testing.T) {
	tests, err := TestFuncs("a_test.go", []byte("package a\nfunc TestOne(t *testing.T) {}\nfunc (s) TestTwo() {}\nfunc helper() {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(tests, []string{"TestOne"}) {
		t.Errorf("tests %q, want TestOne", tests)
	}
	for _, test := range []struct{ page, want string }{
		{"`TestOne`, TestThree, `Testing`", ""},
		{"`TestTwo`", "no test TestTwo"},
		{"| a | `TestThree` |\n", "no test TestThree"},
	} {
		check(t, test.page, CheckTests("page.md", test.page, tests), test.want)
	}
}

func TestPagesThatAreTooLongAreFound(t *testing.T) {
	check(t, "two lines", CheckLength("page.md", "1\n2\n", 2), "")
	check(t, "three lines", CheckLength("page.md", "1\n2\n3\n", 2), "page.md has 3 lines")
}

// check compares the faults that were found with the one that is wanted, "" for none.
func check(t *testing.T, what string, got []string, want string) {
	t.Helper()
	if want == "" && len(got) > 0 {
		t.Errorf("%q: %q, want no fault", what, got)
	}
	if want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
		t.Errorf("%q: %q, want %q", what, got, want)
	}
}
