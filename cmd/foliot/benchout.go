package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/foliot-go/foliot/bench"
	plots "github.com/foliot-go/foliot/bench/report"
)

// Values of benchFlags.htmlFile that are not the name of a file.
const (
	temporaryFile = "\x00" // a new file in the temporary folder
	noFile        = "none"
)

// write writes the report to all places that the flags name. An error in one place does not stop the others.
func (b *benchFlags) write(cmd *cobra.Command, r bench.Report) error {
	out, errs := cmd.OutOrStdout(), cmd.ErrOrStderr()
	var all []error
	if b.jsonFile != "" && b.jsonFile != "-" {
		all = append(all, writeFile(b.jsonFile, func(w io.Writer) error { return writeJSON(w, r) }))
	}
	switch b.htmlFile {
	case "", noFile:
	case temporaryFile:
		name, err := writeTemporary(func(w io.Writer) error { return plots.HTML(w, &r) })
		if err == nil {
			fmt.Fprintf(errs, "The page with plots is in %s\n", name)
		}
		all = append(all, err)
	default:
		all = append(all, writeFile(b.htmlFile, func(w io.Writer) error { return plots.HTML(w, &r) }))
	}
	if b.svgDir != "" {
		all = append(all, writePictures(b.svgDir, &r))
	}
	for _, page := range b.splice {
		all = append(all, spliceFile(page, r))
	}
	switch {
	case b.jsonFile == "-":
		all = append(all, writeJSON(out, r))
	case b.markdown:
		all = append(all, r.Markdown(out))
	case b.from != "" && (len(b.splice) > 0 || b.svgDir != "" || b.htmlFile != "" || b.jsonFile != ""):
		// The report was read only to write it to a file.
	default:
		all = append(all, r.Table(out, styleOf(out)))
	}
	if err := errors.Join(all...); err != nil {
		return runError{err}
	}
	return nil
}

func readReport(name string) (r bench.Report, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s is not a report: %w", name, err)
	}
	if r.Environment.Go == "" {
		return r, fmt.Errorf("%s is not a report", name)
	}
	return r, nil
}

func writeJSON(w io.Writer, r bench.Report) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(r)
}

func writeFile(name string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(name, text.Bytes(), 0o666)
}

func writeTemporary(write func(io.Writer) error) (name string, err error) {
	f, err := os.CreateTemp("", "foliot-bench-*.html")
	if err != nil {
		return "", err
	}
	return f.Name(), errors.Join(write(f), f.Close())
}

func writePictures(dir string, r *bench.Report) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, p := range plots.Pictures(r) {
		err := writeFile(filepath.Join(dir, p.File()), func(w io.Writer) error { return plots.SVG(w, r, p) })
		if err != nil {
			return err
		}
	}
	return nil
}

// spliceFile replaces the figures in a page, or makes a Go file of documentation anew.
func spliceFile(name string, r bench.Report) error {
	if filepath.Ext(name) == ".go" {
		text, err := bench.GoDoc(r)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return os.WriteFile(name, text, 0o666)
	}
	page, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	changed, err := bench.Splice(page, r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if bytes.Equal(page, changed) {
		return nil
	}
	return os.WriteFile(name, changed, 0o666)
}

// printList prints the scenarios and contenders.
func printList(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "Scenarios:")
	for _, s := range bench.List() {
		fmt.Fprintf(w, "  %s\t%s\n", s.Name, s.About)
	}
	fmt.Fprintln(w, "\nContenders:")
	for _, c := range bench.Contenders() {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", c.Name, c.Title, c.Module)
	}
	return w.Flush()
}

// styleOf returns the style for a writer. A terminal has colours, unless the environment says otherwise.
func styleOf(w io.Writer) bench.Style {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return bench.Style{Width: 120}
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		width = 120
	}
	return bench.Style{Width: max(width, 80), Colour: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// A progressPrinter prints the progress of a run: on a terminal in one line that changes, otherwise in separate lines.
type progressPrinter struct {
	w          io.Writer
	plainLines bool
}

func newProgressPrinter(w io.Writer) *progressPrinter {
	f, ok := w.(*os.File)
	return &progressPrinter{w, !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb"}
}

func (pp *progressPrinter) print(p bench.Progress) {
	begin, end := "\r\x1b[K", ""
	if pp.plainLines {
		begin, end = "", "\n"
	}
	fmt.Fprintf(pp.w, "%s[%d/%d] %s (%v)%s", begin, p.Index+1, p.Of, p.Scenario, p.Took.Round(time.Second), end)
}

func (pp *progressPrinter) clear() {
	if !pp.plainLines {
		fmt.Fprint(pp.w, "\r\x1b[K")
	}
}
