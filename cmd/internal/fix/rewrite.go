package fix

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// rewrite replaces import paths in a file. If the file was formatted by gofmt, its imports stay sorted. If it has the
// imports of the standard library in a separate section, a replaced path moves to the section where it belongs. Nothing
// else changes.
func rewrite(src []byte, paths map[string]string, module string) ([]byte, error) {
	all, err := candidates(src, paths, module)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// rewriteReversibly is like rewrite, but leaves lines in place if otherwise the way back would not restore the file byte
// for byte.
func rewriteReversibly(src []byte, paths map[string]string, module string) ([]byte, error) {
	all, err := candidates(src, paths, module)
	if err != nil {
		return nil, err
	}
	back := map[string]string{}
	for from, to := range paths {
		back[to] = from
	}
	for _, form := range all {
		if restored, err := rewrite(form, back, module); err == nil && bytes.Equal(restored, src) {
			return form, nil
		}
	}
	return all[0], nil
}

// candidates returns the forms that the file can have with its paths replaced, the best first.
func candidates(src []byte, paths map[string]string, module string) ([][]byte, error) {
	plain, err := replacePaths(src, paths)
	if err != nil {
		return nil, err
	}
	if formatted, err := format.Source(src); err != nil || !bytes.Equal(formatted, src) {
		return [][]byte{plain}, nil
	}
	list := [][]byte{plain}
	if moved, ok := moveSpecs(src, paths, module); ok {
		list = [][]byte{moved, plain}
	}
	for i, form := range list {
		if list[i], err = format.Source(form); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// parseImports parses a file up to the end of its imports.
func parseImports(src []byte) (*token.File, *ast.File, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return nil, nil, err
	}
	return fset.File(f.Package), f, nil
}

// replacePaths replaces paths in place and keeps their quotes.
func replacePaths(src []byte, paths map[string]string) ([]byte, error) {
	tf, f, err := parseImports(src)
	if err != nil {
		return nil, err
	}
	var out []byte
	done := 0
	for _, spec := range f.Imports {
		if to, ok := paths[pathOf(spec)]; ok {
			start, end := tf.Offset(spec.Path.Pos())+1, tf.Offset(spec.Path.End())-1
			out = append(append(out, src[done:start]...), to...)
			done = end
		}
	}
	return append(out, src[done:]...), nil
}

func pathOf(spec *ast.ImportSpec) string {
	path, _ := strconv.Unquote(spec.Path.Value)
	return path
}

// A section is a run of import specs on consecutive lines of a block, one on each line. It does not mix imports of the
// standard library with others.
type section struct {
	first, last         int               // line numbers
	move                []*ast.ImportSpec // specs with paths to replace
	stays               bool              // there are other specs
	std, local, foreign bool              // the others include some of the standard library, the main module, other modules
}

// moveSpecs replaces paths and moves their lines to the section they belong to. It returns false if the arrangement of
// the imports does not show where that is, or if there are comments between them.
func moveSpecs(src []byte, paths map[string]string, module string) ([]byte, bool) {
	tf, f, err := parseImports(src)
	if err != nil {
		return nil, false
	}
	var block *ast.GenDecl
	others := false // some block imports packages from outside the standard library
	for _, d := range f.Decls {
		gen := d.(*ast.GenDecl)
		for _, s := range gen.Specs {
			path := pathOf(s.(*ast.ImportSpec))
			if _, ok := paths[path]; !ok {
				others = others || !isStd(path, module)
			} else if block != nil && block != gen {
				return nil, false
			} else {
				block = gen
			}
		}
	}
	if block == nil || !block.Lparen.IsValid() || hasCommentsBetween(tf, f, block) {
		return nil, false
	}
	list, ok := sections(tf, block, paths, module)
	if !ok {
		return nil, false
	}
	source, target, ok := chooseSections(list, others)
	if !ok {
		return nil, false
	}
	return moveLines(src, tf, source, target, paths), true
}

// hasCommentsBetween reports whether a block has comments on separate lines, rather than at the end of lines.
func hasCommentsBetween(tf *token.File, f *ast.File, block *ast.GenDecl) bool {
	behind := map[*ast.CommentGroup]bool{}
	for _, spec := range block.Specs {
		if c := spec.(*ast.ImportSpec).Comment; c != nil && tf.Line(c.End()) == tf.Line(spec.Pos()) {
			behind[c] = true
		}
	}
	return slices.ContainsFunc(f.Comments, func(c *ast.CommentGroup) bool {
		return block.Lparen < c.Pos() && c.Pos() < block.Rparen && !behind[c]
	})
}

// sections divides a block into sections. It returns false if a section mixes the standard library with others.
func sections(tf *token.File, block *ast.GenDecl, paths map[string]string, module string) ([]*section, bool) {
	var list []*section
	for _, s := range block.Specs {
		spec := s.(*ast.ImportSpec)
		line := tf.Line(spec.Pos())
		if len(list) == 0 || line > list[len(list)-1].last+1 {
			list = append(list, &section{first: line})
		}
		sec := list[len(list)-1]
		sec.last = line
		path := pathOf(spec)
		if _, ok := paths[path]; ok {
			sec.move = append(sec.move, spec)
			continue
		}
		switch sec.stays = true; {
		case isStd(path, module):
			sec.std = true
		case isWithin(path, module):
			sec.local = true
		default:
			sec.foreign = true
		}
		if sec.std && (sec.local || sec.foreign) {
			return nil, false
		}
	}
	return list, true
}

// isStd reports whether a path belongs to the standard library. Like goimports, it looks for a dot in the first element,
// but a main module may have a path without a dot too.
func isStd(path, module string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && !isWithin(path, module)
}

func isWithin(path, module string) bool {
	return path == module || strings.HasPrefix(path, module+"/")
}

// chooseSections returns the section whose lines move, and the section they move to. A nil target is a new section after
// the source. It returns false if no line moves.
//
//   - On the way to Foliot, lines move from a section of the standard library to the first section with imports of other
//     modules, or else of the main module. If the file has neither, they move to a new section.
//   - On the way back, lines move to the last section of the standard library before them. If they are the whole section,
//     as a new one is, they move only if the section right before is that one.
//
// If the lines are the whole section of the standard library, they do not move to Foliot: on the way back it would be
// unknown where that section was.
func chooseSections(list []*section, others bool) (source, target *section, ok bool) {
	at := -1
	for i, s := range list {
		if len(s.move) > 0 {
			if at >= 0 {
				return nil, nil, false
			}
			at = i
		}
	}
	source = list[at]
	if isStd(pathOf(source.move[0]), Module) {
		for _, s := range list {
			if s.foreign && (target == nil || !target.foreign) || s.local && target == nil {
				target = s
			}
		}
		return source, target, source.std && (target != nil || !others)
	}
	if source.std {
		return nil, nil, false
	}
	for i, s := range list[:at] {
		if s.std && (source.stays || i == at-1) {
			target = s
		}
	}
	return source, target, target != nil
}

// moveLines moves lines from one section to another. gofmt sorts them afterwards.
func moveLines(src []byte, tf *token.File, source, target *section, paths map[string]string) []byte {
	lines := bytes.SplitAfter(src, []byte("\n")) // line n is lines[n-1]
	var load []byte
	for _, spec := range source.move {
		n := tf.Line(spec.Pos())
		start := tf.Offset(spec.Path.Pos()) - tf.Offset(tf.LineStart(n))
		end := start + len(spec.Path.Value)
		line := lines[n-1]
		load = slices.Concat(load, line[:start+1], []byte(paths[pathOf(spec)]), line[end-1:])
		lines[n-1] = nil
	}
	if !source.stays { // remove the blank line before it too
		lines[source.first-2] = nil
	}
	if target == nil {
		lines[source.last-1] = slices.Concat(lines[source.last-1], []byte("\n"), load)
	} else {
		lines[target.first-1] = slices.Concat(load, lines[target.first-1])
	}
	return bytes.Join(lines, nil)
}
