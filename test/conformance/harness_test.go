package conformance

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
)

func TestRewritingReplacesImportsAndKeepsLineNumbers(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{
			name: "imports",
			text: "package p_test\n\nimport (\n\t. \"time\"\n\t\"internal/race\"\n\tfoo \"context\"\n\t\"os\"\n)\n",
			want: "package p_test\n\nimport (\n\t. \"github.com/foliot-go/foliot/time\"\n\t\n\tfoo \"github.com/foliot-go/foliot/context\"\n\t\"os\"\n)\n",
		},
		{
			name: "an import of the package, declarations with unexported names, duplicate declarations",
			text: "package context\n\nimport \"os\"\n\nfunc ok() {}\n\nfunc bad(h hid) {\n}\n\ntype worse hid\n\nconst twice = 1\n",
			want: "package context_test\n\nimport . \"github.com/foliot-go/foliot/context\"; \"os\"\n\nfunc ok() {}\n\n\n\n\n\n\n\n",
		},
		{
			name: "statements with unexported names, and statements that depend on them",
			text: "package context\n\nimport \"os\"\n\nfunc f() {\n\ta := b.hid\n\tc := a.(hid)\n\td := c.d\n\tif c.ok {\n\t\ta()\n\t}\n\tfor range a {\n\t\td()\n\t\ta()\n\t}\n}\n",
			want: "package context_test\n\nimport . \"github.com/foliot-go/foliot/context\"; \"os\"\n\nfunc f() {\n\ta := b.hid\n\t\n\t\n\t\n\n\n\tfor range a {\n\t\t\n\t\ta()\n\t}\n}\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			file, err := parse("f.go", []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			got, err := file.rewrite("context", dropIn, []string{"hid"}, []string{"twice"})
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestAnEditThatDoesNotApplyIsAnError(t *testing.T) {
	s := suite{pkg: "p", edits: []edit{
		{file: "f.go", old: "once", new: "1"},
		{file: "f.go", old: "later", new: "2", since: 30},
	}}
	for _, test := range []struct {
		text    string
		release int
		want    string
	}{
		{"once", 29, "1"},
		{"once later", 30, "1 2"},
		{"", 29, ""},
		{"once once", 29, ""},
		{"once", 30, ""},
	} {
		got, err := s.edit("f.go", []byte(test.text), test.release)
		if string(got) != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%q in Go 1.%d: got %q, %v, want %q",
				test.text, test.release, got, err, test.want)
		}
	}
}

const someTests = `package time_test

import (
	"fmt"
	"testing"
	. "time"
)

func TestGood(t *testing.T) { Sleep(1); fmt.Print("--- FAIL: TestGood (0.00s)") }
func TestBad(t *testing.T)  { t.Run("sub", func(t *testing.T) { t.Error("bad") }) }
func TestSkip(t *testing.T) { t.Skip() }

func BenchmarkGood(b *testing.B) { b.Run("sub", func(b *testing.B) {}) }
func BenchmarkSkip(b *testing.B) { b.Skip() }

func ExampleGood() {
	fmt.Print("no newline")
	// Output: no newline
}

func ExampleBad() {
	// Output: something
}

func ExampleNotRun() { panic("run") }
`

func TestEveryTestThatDoesNotPassIsReported(t *testing.T) {
	testkit.SkipIfShort(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "some_test.go"), []byte(someTests), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := suite{pkg: "time", files: []string{"some_test.go"}}.read(dir, 0, standard)
	if err != nil {
		t.Fatal(err)
	}
	m.tests = append(m.tests, "TestMissing")
	output, err := run(t, build(t, "time", m, false))
	want := []string{
		"exit status 1",
		"TestBad: FAIL", "TestSkip: SKIP", "TestMissing did not finish", "ExampleBad: FAIL",
	}
	compareProblems(t, m.problems(output, err), want)

	m.tests, m.examples = []string{"TestGood"}, []string{"ExampleGood"}
	m.files["some_test.go"] = []byte(strings.NewReplacer("t.Error", "t.Log", "Output: something", "").Replace(someTests))
	output, err = run(t, build(t, "time", m, false))
	compareProblems(t, m.problems(output, err), []string{"BenchmarkSkip did not finish"})
	compareProblems(t, (&suiteFiles{}).problems("", errors.New("killed")), []string{"killed", "no tests"})
}

// compareProblems compares the texts of problems.
func compareProblems(t *testing.T, got []error, want []string) {
	t.Helper()
	var texts []string
	for _, err := range got {
		texts = append(texts, err.Error())
	}
	if !slices.Equal(texts, want) {
		t.Errorf("got the problems\n%s\nwant\n%s",
			strings.Join(texts, "\n"), strings.Join(want, "\n"))
	}
}
