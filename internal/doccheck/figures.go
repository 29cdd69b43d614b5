package doccheck

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The marks between which foliot bench puts the figures of a run.
const (
	figuresBegin = "<!-- figures:"
	figuresEnd   = "<!-- /figures -->"
)

// experiments is how the heading of a section about experiments begins. What was measured there is not in the tree, so
// it cannot be measured again.
const experiments = "What was tried"

// demands is the heading of a column that says what is required and not what was measured.
const demands = "requirement"

// figure matches one or more numbers with a unit: "5 ms", "30 to 50 µs", "1.9x".
var figure = regexp.MustCompile(`(?:^|[^\w.,^])((` + number + `(?:(?: to | and | or |–)` + number + `)*)[ \x{a0}]?` +
	`((?:ns|µs|us|ms|(?:nano|micro|milli)seconds?|bytes?|[kKMG]i?B|B|M/s|x|times (?:as|better|worse|faster|slower|more|less))\b|[%×]))`)

const number = `\d[\d,]*(?:\.\d+)?`

var (
	numbers    = regexp.MustCompile(number)
	linkTarget = regexp.MustCompile(`\]\([^()]*\)`)
	comment    = regexp.MustCompile(`<!--.*?-->`)
	underlined = regexp.MustCompile(`^[-:| ]+$`)
	headings   = regexp.MustCompile(`^(#+) +(.*)`)
)

// timeUnits are the units of time that count as figures. A column of a table may have one as its heading.
var timeUnits = map[string]time.Duration{
	"ns": time.Nanosecond, "nanosecond": time.Nanosecond, "nanoseconds": time.Nanosecond,
	"µs": time.Microsecond, "us": time.Microsecond, "microsecond": time.Microsecond, "microseconds": time.Microsecond,
	"ms": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
}

// sizeUnits are the units of memory that count as figures, each with the spelling that is compared.
var sizeUnits = map[string]string{
	"byte": "B", "bytes": "B", "B": "B", "kB": "KB", "KB": "KB", "MB": "MB", "GB": "GB", "KiB": "KiB", "MiB": "MiB", "GiB": "GiB",
}

// Constants are the figures that the code has: durations, and the sizes that its comments state.
type Constants struct {
	durations map[time.Duration]bool
	sizes     map[string]bool
}

// Add adds the figures of a Go file. A duration is a product of a number and a unit of package time, or a constant that is
// such a unit, or a constant with the comment "ns".
func (c *Constants) Add(filename string, src []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), filename, src, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return err
	}
	if c.durations == nil {
		c.durations, c.sizes = map[time.Duration]bool{}, map[string]bool{}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			c.addProduct(n)
		case *ast.GenDecl:
			for _, spec := range n.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && n.Tok == token.CONST {
					c.addConstant(v)
				}
			}
		}
		return true
	})
	for _, group := range file.Comments {
		text := strings.Join(strings.Fields(group.Text()), " ")
		for _, f := range figuresIn(text) {
			if unit, ok := sizeUnits[f.unit]; ok {
				for _, n := range f.numbers {
					c.sizes[n+" "+unit] = true
				}
			}
		}
	}
	return nil
}

// addProduct adds an expression such as 5 * time.Millisecond.
func (c *Constants) addProduct(e *ast.BinaryExpr) {
	if e.Op != token.MUL {
		return
	}
	for _, order := range [][2]ast.Expr{{e.X, e.Y}, {e.Y, e.X}} {
		literal, ok := order[0].(*ast.BasicLit)
		unit, isUnit := timeUnit(order[1])
		if !ok || !isUnit {
			continue
		}
		if n, err := strconv.ParseFloat(literal.Value, 64); err == nil {
			c.durations[time.Duration(n*float64(unit))] = true
		}
	}
}

// addConstant adds a constant such as time.Millisecond, or 1 << 14 with the comment "ns".
func (c *Constants) addConstant(spec *ast.ValueSpec) {
	for _, e := range spec.Values {
		for {
			if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 { // a conversion
				e = call.Args[0]
				continue
			}
			break
		}
		if unit, ok := timeUnit(e); ok {
			c.durations[unit] = true
		}
		if strings.TrimSpace(spec.Comment.Text()) != "ns" {
			continue
		}
		if v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(e)); err == nil && v.Value != nil {
			if n, exact := constant.Int64Val(constant.ToInt(v.Value)); exact {
				c.durations[time.Duration(n)] = true
			}
		}
	}
}

// timeUnit returns the value of an expression such as time.Millisecond. The drop-in imports the
// standard package as std.
func timeUnit(e ast.Expr) (time.Duration, bool) {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return 0, false
	}
	if x, ok := s.X.(*ast.Ident); !ok || x.Name != "time" && x.Name != "std" {
		return 0, false
	}
	unit, ok := timeUnits[strings.ToLower(s.Sel.Name)]
	return unit, ok
}

// has reports whether the code has a figure.
func (c *Constants) has(number, unit string) bool {
	if d, ok := timeUnits[unit]; ok {
		n, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
		return err == nil && c.durations[time.Duration(n*float64(d)+0.5)]
	}
	size, ok := sizeUnits[unit]
	return ok && c.sizes[number+" "+size]
}

// CheckFigures checks that a page has measured figures only where foliot bench puts them, between marks. A figure is a
// number with a unit of time below a second, a unit of memory, a rate, a share or a ratio. Elsewhere these are allowed:
//
//   - durations and sizes that the code has, see Constants;
//   - figures in sections about experiments, and in columns of demands;
//   - figures in code.
func CheckFigures(name, page string, c Constants) (faults []string) {
	for _, paragraph := range prose(page) {
		for _, f := range figuresIn(paragraph) {
			for _, n := range f.numbers {
				if !c.has(n, f.unit) {
					faults = append(faults, fmt.Sprintf("%s: %q is neither between marks of foliot bench nor a constant of the code", name, f.text))
					break
				}
			}
		}
	}
	return faults
}

// A foundFigure is a figure in a text.
type foundFigure struct {
	text    string
	numbers []string
	unit    string
}

func figuresIn(text string) (all []foundFigure) {
	for _, m := range figure.FindAllStringSubmatch(text, -1) {
		all = append(all, foundFigure{m[1], numbers.FindAllString(m[2], -1), m[3]})
	}
	return all
}

// prose returns the paragraphs and the cells of tables of a page in which figures are checked.
func prose(page string) (all []string) {
	var (
		paragraph string
		columns   []string // headings of the current table
		generated bool
		level     int // of the section about experiments; 0: there is none
	)
	end := func() {
		if paragraph != "" {
			all = append(all, plain(paragraph))
		}
		paragraph = ""
	}
	text, _ := fences(page)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := headings.FindStringSubmatch(line); m != nil && !generated {
			switch {
			case strings.HasPrefix(m[2], experiments):
				level = len(m[1])
			case len(m[1]) <= level:
				level = 0
			}
		}
		switch {
		case strings.HasPrefix(line, figuresBegin):
			end()
			generated = true
		case line == figuresEnd:
			generated = false
		case generated || level > 0:
			end()
		case strings.HasPrefix(line, "|"):
			end()
			cells := strings.Split(strings.Trim(line, "|"), "|")
			if columns == nil {
				columns = cells
			}
			if !underlined.MatchString(line) {
				all = append(all, checkedCells(columns, cells)...)
			}
			continue
		case line == "":
			end()
		default:
			paragraph += line + " "
		}
		columns = nil
	}
	end()
	return all
}

// checkedCells returns the cells of a line in which figures are checked. If the heading of a column is a unit of time, the
// numbers of its cells get that unit.
func checkedCells(columns, cells []string) (all []string) {
	for i, cell := range cells {
		heading := ""
		if i < len(columns) {
			heading = strings.TrimSpace(columns[i])
		}
		if heading == demands {
			continue
		}
		cell = plain(strings.TrimSpace(cell))
		if _, ok := timeUnits[heading]; ok && cell != heading {
			cell = numbers.ReplaceAllString(cell, "$0 "+heading)
		}
		all = append(all, cell)
	}
	return all
}

// plain removes inline code, comments and the targets of links.
func plain(text string) string {
	text = code.ReplaceAllString(text, "`")
	text = comment.ReplaceAllString(text, "")
	return linkTarget.ReplaceAllString(text, "]")
}

// CheckSameRun checks that each generated cell of a page with a figure is also a generated cell of the page that has all
// figures. Otherwise the two are from different runs.
func CheckSameRun(name, page, all string) (faults []string) {
	known := generatedCells(all)
	for _, cell := range generatedCells(page) {
		if len(figuresIn(cell)) > 0 && !slices.Contains(known, cell) {
			faults = append(faults, fmt.Sprintf("%s: %q is not in the page with all figures", name, cell))
		}
	}
	return faults
}

// generatedCells returns the cells of the tables that foliot bench has put into a page.
func generatedCells(page string) (cells []string) {
	generated := false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, figuresBegin):
			generated = true
		case line == figuresEnd:
			generated = false
		case generated && strings.HasPrefix(line, "|"):
			for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
				cells = append(cells, strings.TrimSpace(cell))
			}
		}
	}
	return cells
}
