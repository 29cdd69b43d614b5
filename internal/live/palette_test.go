package live

import (
	"slices"
	"strings"
	"testing"
)

// A colour that only one of the two schemes has would be missing on half of the screens.
func TestLightAndDarkPalettesNameSameColours(t *testing.T) {
	css, err := own.ReadFile("palette.css")
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
