package fix

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestTheGoVersionIsThatOfTheModule(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\ngo "+GoVersion+"\n") {
		t.Errorf("GoVersion is %s, but go.mod is\n%s", GoVersion, text)
	}
}

// standardSettings reads the table of GODEBUG settings of the toolchain: by name, the minor version that changed the
// default.
func standardSettings(t *testing.T) map[string]int {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(strings.TrimSpace(string(root)), "src", "internal", "godebugs", "table.go")
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		fields := map[string]string{}
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if value, ok := kv.Value.(*ast.BasicLit); ok {
					fields[kv.Key.(*ast.Ident).Name] = strings.Trim(value.Value, `"`)
				}
			}
		}
		if minor, err := strconv.Atoi(fields["Changed"]); err == nil {
			found[fields["Name"]] = minor
		}
		return true
	})
	return found
}

func TestTheListOfGodebugSettingsIsThatOfGo(t *testing.T) {
	standard := standardSettings(t)
	if len(standard) == 0 {
		t.Fatal("the table of the toolchain was not understood")
	}
	listed := map[string]int{}
	for _, g := range godebugs {
		for _, name := range strings.Fields(g.names) {
			listed[name] = g.minor
		}
	}
	last, _ := minorVersion(GoVersion)
	for name, minor := range standard {
		if minor <= last && listed[name] != minor {
			t.Errorf("%s changed in 1.%d; the list has 1.%d", name, minor, listed[name])
		}
	}
	if !strings.HasPrefix(runtime.Version(), "go"+GoVersion) {
		return // a later release may have removed some
	}
	for name := range listed {
		if standard[name] == 0 {
			t.Errorf("Go has no setting %s with a default that changed", name)
		}
	}
}

func TestRaiseGo(t *testing.T) {
	for _, c := range []struct {
		name, goLine, mod string
		lines             int
		has, hasNot       []string
	}{
		{"high enough", GoVersion, "", 0, nil, nil},
		{"higher", "1.99.1", "", 0, nil, nil},
		{"one behind", "1.25.3", "", 3, []string{"from 1.25.3 to 1.26", "urlstrictcolons", "default=go1.25"}, []string{"loop", "tlssha1"}},
		{"before loop variables", "1.21", "", 8, []string{"loop", "asynctimerchan", "httpmuxgo121", "default=go1.21"}, []string{"panicnil"}},
		{"none", "", "", 10, []string{"from 1.16", "netedns0", "panicnil"}, nil},
		{"pinned", "1.22", "godebug default=go1.22\n", 2, []string{"keeps the defaults"}, []string{"asynctimerchan"}},
		{"pinned in a block", "1.22", "godebug (\n\tpanicnil=1\n\tdefault=go1.22\n)\n", 2, []string{"keeps the defaults"}, nil},
		{"other setting", "1.22", "godebug panicnil=1\n", 6, []string{"asynctimerchan"}, []string{"keeps the defaults"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module m\n"+c.mod), 0o666); err != nil {
				t.Fatal(err)
			}
			lines := RaiseGo(MainModule{"m", dir, c.goLine})
			text := strings.Join(lines, "\n")
			if len(lines) != c.lines {
				t.Errorf("%d lines, want %d:\n%s", len(lines), c.lines, text)
			}
			contains := func(word string) bool { return strings.Contains(text, word) }
			for _, word := range c.has {
				if !contains(word) {
					t.Errorf("%q is missing in\n%s", word, text)
				}
			}
			if slices.ContainsFunc(c.hasNot, contains) {
				t.Errorf("one of %q is in\n%s", c.hasNot, text)
			}
		})
	}
}
