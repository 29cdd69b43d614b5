package doccheck

import (
	"slices"
	"strings"
	"testing"
)

var files = map[string]string{
	"README.md":       "# Top\n",
	"a.go":            "",
	"docs/page.md":    "# A page\n\n## What's new, and `old`\n",
	"docs/wheel.svg":  "",
	"pkg/deep/b.go":   "",
	"pkg/deep/b.text": "",
}

func TestCheckPathsFindsFaults(t *testing.T) {
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
		check(t, test.page, checkPaths("docs/this.md", test.page, all), test.want)
	}
}

func TestCheckTargetsFindsFaults(t *testing.T) {
	const makefile = "X := 1\n.PHONY: test\ntest: ## run\n\tgo test\nfmt-check:\n"
	for _, test := range []struct{ page, want string }{
		{"`make test`, `make fmt-check test X=2`, `make`, make sure", ""},
		{"```sh\nmake test # all of it\ngo run .\n```\n", ""},
		{"`make tests`", "no target tests"},
		{"```sh\nmake all\n```\n", "no target all"},
		{"`make test release VERSION=1`", "no target release"},
	} {
		check(t, test.page, checkTargets("page.md", test.page, makefile), test.want)
	}
}

func TestCheckTestsFindsFaults(t *testing.T) {
	tests := testFuncs("package a\nfunc TestOne(t *testing.T) {}\nfunc (s) TestTwo() {}\nfunc helper() {}\n")
	if !slices.Equal(tests, []string{"TestOne"}) {
		t.Errorf("tests %q, want TestOne", tests)
	}
	for _, test := range []struct{ page, want string }{
		{"`TestOne`, TestThree, `Testing`", ""},
		{"`TestTwo`", "no test TestTwo"},
		{"| a | `TestThree` |\n", "no test TestThree"},
	} {
		check(t, test.page, checkTests("page.md", test.page, tests), test.want)
	}
}

func TestCheckFiguresFindsFaults(t *testing.T) {
	for _, test := range []struct{ page, want string }{
		{"It takes <!-- fig arm/foliot -->83 ns<!-- /fig --> where others take <!-- fig arm/std -->168 ns<!-- /fig -->.", ""},
		{"<!-- figures:s -->\n\n| a | 83 µs [1.9x] |\n\n<!-- /figures -->\n", ""},
		{"`83 µs` and\n```\n83 µs\n```\n[x](83ns.md)\n", ""},
		{"50 ms after the last timer, 10 s, 2^31 entries, Go 1.26, 0x1f, 1,000,000 timers, tens of ns, four bytes", ""},
		{"It takes 83 µs.", `"83 µs"`},
		{"It takes 83\nns.", `"83\nns"`},
		{"It is late by 0.1 ms.", `"0.1 ms"`},
		{"It is 1.9x as fast", `"1.9x"`},
		{"It is 3 times faster", `"3 times faster"`},
		{"It takes 40 % of a processor", `"40 %"`},
		{"A timer takes 38 bytes", `"38 bytes"`},
		{"A million of them take 38 MB", `"38 MB"`},
		{"| took | 83 µs |\n", `"83 µs"`},
		{"<!-- fig a -->83 ns<!-- /fig -->, 84 ns", `"84 ns"`},
		{"<!-- figures:s -->\n83 ns", `"83 ns"`},
	} {
		check(t, test.page, checkFigures("page.md", test.page), test.want)
	}
}

func TestCheckBlocksFindsFaults(t *testing.T) {
	sources := []string{"package a\n\nfunc a() {\n\tb()\n\n\tc()\n}\n", "package b\n"}
	for _, test := range []struct{ page, want string }{
		{"no code", ""},
		{"```go\nb()\nc()\n```\n```sh\nd\n```\n", ""},
		{"```go\nc()\nb()\n```\n", "not compiled anywhere:\nc()\nb()"},
		{"```go\nb()\n```\n```go\nd()\n```\n", "not compiled anywhere:\nd()"},
	} {
		check(t, test.page, checkBlocks("page.md", test.page, sources), test.want)
	}
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
