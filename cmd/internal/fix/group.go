package fix

import (
	"cmp"
	"fmt"
	"go/token"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The ranks of notes. A note of a low rank may be the cause of others that have a higher one.
const (
	rankImport  = iota // a package cannot be imported
	rankSyntax         // a file cannot be parsed
	rankFirst          // found in packages that import none with errors; refused because of code that never changes
	rankFollows        // found in packages that import one with errors; refused because others were refused
)

// What Print shows unless it shows all.
const (
	maxGroups = 8 // groups of notes
	maxNotes  = 3 // notes of each group
)

// importError matches the message of the type checker about an import without types.
var importError = regexp.MustCompile(`^could not import (\S+) \(.*\)$`)

// kindForms are messages that have names in them, each with a form without these names.
var kindForms = []struct {
	message *regexp.Regexp
	kind    string
}{
	{importError, `could not import $1`},
	{regexp.MustCompile(`^(undefined|declared and not used|missing return): .*$`), `$1`},
	{regexp.MustCompile(`^\S+ undefined \(.*\)$`), `undefined`},
	{regexp.MustCompile(`(?s)^cannot use .* (as .* value) .*$`), `cannot use $1`},
}

// kindOf returns what messages of the compiler have in common that differ in the names of the program only.
func kindOf(message string) string {
	for _, f := range kindForms {
		if f.message.MatchString(message) {
			return f.message.ReplaceAllString(message, f.kind)
		}
	}
	return message
}

// groups divides notes by rank and kind. Causes come first, then the large groups. Each group is sorted by position.
func groups(notes []Note) [][]Note {
	type key struct {
		rank int
		kind string
	}
	index := map[key]int{}
	var all [][]Note
	for _, n := range sortNotes(slices.Clone(notes)) {
		k := key{n.rank, n.kind}
		i, ok := index[k]
		if !ok {
			i = len(all)
			index[k] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], n)
	}
	slices.SortStableFunc(all, func(a, b []Note) int {
		return cmp.Or(a[0].rank-b[0].rank, len(b)-len(a))
	})
	return all
}

// Print prints notes, likely causes first. Unless all is set, it prints only the first ones of each kind, and how many
// more there are.
func Print(w io.Writer, notes []Note, all bool) {
	list := groups(notes)
	for i, group := range list {
		if !all && i == maxGroups {
			rest := 0
			for _, g := range list[i:] {
				rest += len(g)
			}
			fmt.Fprintf(w, "and %d more of %d other kinds\n", rest, len(list)-i)
			return
		}
		for j, n := range group {
			if !all && j == maxNotes && len(group) > maxNotes+1 {
				fmt.Fprintf(w, "and %d more like this\n", len(group)-j)
				break
			}
			fmt.Fprintln(w, n)
		}
	}
}

// Complete reports whether Print prints all notes even if it is not told to.
func Complete(notes []Note) bool {
	list := groups(notes)
	return len(list) <= maxGroups && !slices.ContainsFunc(list, func(g []Note) bool { return len(g) > maxNotes+1 })
}

// placed returns a note about a position in the form file:line:column, which is how package packages writes it.
func placed(pos, text string) (Note, bool) {
	file, rest, ok := cutFile(pos)
	if !ok {
		return Note{}, false
	}
	line, column, _ := strings.Cut(rest, ":")
	l, err1 := strconv.Atoi(line)
	c, err2 := strconv.Atoi(column)
	return Note{Pos: token.Position{Filename: file, Line: l, Column: c}, Text: text}, err1 == nil && err2 == nil
}
