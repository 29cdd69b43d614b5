package inspect_test

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/inspect"
)

// A page of somebody else has all that the scripts and the parts need, wherever it serves the folder.
func TestFilesReferOnlyToEachOther(t *testing.T) {
	files := inspect.Files()
	refers := regexp.MustCompile(`(?m)^import .*"(.*)";$|<(?:link|script)[^>]* (?:href|src)="(.*?)"|<!-- (\w+\.html) -->`)
	var scripts, parts int
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, "uplot/") {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		for _, m := range refers.FindAllStringSubmatch(string(text), -1) {
			target := m[1] + m[2] + m[3]
			if _, err := fs.Stat(files, path.Join(path.Dir(name), target)); err != nil {
				t.Errorf("%s refers to %s: %v", name, target, err)
			}
			if m[3] != "" {
				parts++
			} else {
				scripts++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if scripts < 20 || parts < 4 {
		t.Errorf("found %d scripts and %d parts of the page, want at least 20 and 4: test is vacuous", scripts, parts)
	}
}

func TestHandlerPutsPartsIntoPage(t *testing.T) {
	page := get(inspect.Handler(inspect.Options{}), "GET", "/").Body.String()
	names, err := fs.Glob(inspect.Files(), "*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.DeleteFunc(names, func(n string) bool { return n == "index.html" }) {
		part, err := fs.ReadFile(inspect.Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page, strings.TrimSpace(string(part))) || strings.Contains(page, name) {
			t.Errorf("the page does not have %s in place of its comment", name)
		}
	}
}

// A colour that only one of the two schemes has would be missing on half of the screens.
func TestLightAndDarkPalettesNameSameColours(t *testing.T) {
	css, err := fs.ReadFile(inspect.Files(), "palette.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, ok := strings.Cut(string(css), "prefers-color-scheme: dark")
	if !ok {
		t.Fatal("palette.css has no dark colours")
	}
	if l, d := colours(light), colours(dark); len(l) == 0 || !slices.Equal(l, d) {
		t.Errorf("light: %v\ndark:  %v", l, d)
	}
}

// colours returns the names of the custom properties of a style sheet.
func colours(css string) (names []string) {
	for line := range strings.Lines(css) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && strings.HasPrefix(name, "--") {
			names = append(names, name)
		}
	}
	return names
}
