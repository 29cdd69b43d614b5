package fix

import (
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

// maxNotes is the number of notes that Print shows unless it shows all.
const maxNotes = 20

// importError matches the message of the type checker about an import without types.
var importError = regexp.MustCompile(`^(could not import \S+) \(.*\)$`)

// Print prints notes, likely causes first. Unless all is set, it prints only the first of them and how many more there
// are.
func Print(w io.Writer, notes []Note, all bool) {
	notes = sortNotes(slices.Clone(notes))
	slices.SortStableFunc(notes, func(a, b Note) int { return a.rank - b.rank })
	for i, n := range notes {
		if !all && i == maxNotes && len(notes) > maxNotes+1 {
			fmt.Fprintf(w, "and %d more; -v lists all\n", len(notes)-i)
			return
		}
		fmt.Fprintln(w, n)
	}
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
