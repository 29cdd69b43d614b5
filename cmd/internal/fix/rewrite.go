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

// rewrite replaces import paths in a file. A file that gofmt had formatted stays so, and if the imports of the standard
// library are in sections of their own, a replaced import moves to the section where it belongs. Nothing else changes.
func rewrite(src []byte, paths map[string]string, module string) ([]byte, error) {
	if formatted, err := format.Source(src); err != nil || !bytes.Equal(formatted, src) {
		return replacePaths(src, paths)
	}
	after, ok := moveSpecs(src, paths, module)
	if !ok {
		var err error
		if after, err = replacePaths(src, paths); err != nil {
			return nil, err
		}
	}
	return format.Source(after)
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

// A section is a run of import specs on consecutive lines of a block. It does not mix imports of the standard library
// with others.
type section struct {
	first, last         int  // line numbers
	move                bool // some of its paths are to be replaced
	std, local, foreign bool // the other paths include some of the standard library, the main module, other modules
}

// moveSpecs replaces paths and moves their lines to the section where they belong. It returns false if the arrangement
// of the imports does not show where that is, or if there are comments between them.
func moveSpecs(src []byte, paths map[string]string, module string) ([]byte, bool) {
	tf, f, err := parseImports(src)
	if err != nil {
		return nil, false
	}
	block := blockOf(f, paths)
	if block == nil || hasCommentsBetween(f, block) {
		return nil, false
	}
	list, ok := sections(tf, block, paths, module)
	if !ok {
		return nil, false
	}
	lines := bytes.SplitAfter(src, []byte("\n")) // line n is lines[n-1]
	var moved []byte
	toStd := false
	for _, s := range block.Specs {
		spec := s.(*ast.ImportSpec)
		to, ok := paths[pathOf(spec)]
		if !ok {
			continue
		}
		toStd = isStd(to, module)
		n := tf.Line(spec.Pos())
		start := tf.Offset(spec.Path.Pos()) - tf.Offset(tf.LineStart(n))
		line := lines[n-1]
		moved = slices.Concat(moved, line[:start+1], []byte(to), line[start+len(spec.Path.Value)-1:])
		lines[n-1] = nil
	}
	target, after := targetOf(list, toStd)
	switch {
	case target != nil:
		lines[target.first-1] = slices.Concat(moved, lines[target.first-1]) // gofmt sorts them
	case after != nil:
		lines[after.last-1] = slices.Concat(lines[after.last-1], []byte("\n"), moved)
	default:
		return nil, false
	}
	return bytes.Join(lines, nil), true
}

// blockOf returns the block in parentheses that has all paths to replace, or nil if there is none.
func blockOf(f *ast.File, paths map[string]string) *ast.GenDecl {
	var block *ast.GenDecl
	for _, d := range f.Decls {
		gen := d.(*ast.GenDecl)
		for _, s := range gen.Specs {
			if _, ok := paths[pathOf(s.(*ast.ImportSpec))]; !ok {
				continue
			}
			if block != nil && block != gen || !gen.Lparen.IsValid() {
				return nil
			}
			block = gen
		}
	}
	return block
}

// hasCommentsBetween reports whether a block has comments on lines of their own.
func hasCommentsBetween(f *ast.File, block *ast.GenDecl) bool {
	behind := map[*ast.CommentGroup]bool{}
	for _, spec := range block.Specs {
		behind[spec.(*ast.ImportSpec).Comment] = true
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
		_, replaced := paths[path]
		switch {
		case replaced:
			sec.move = true
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

// targetOf returns the section that replaced paths move to: the first one of the standard library, or the first one with
// imports of other modules, or else of the main module. If there is none, it returns the section after which Foliot's
// paths get a new one, unless they would be alone in the block.
func targetOf(list []*section, toStd bool) (target, after *section) {
	for _, s := range list {
		switch {
		case toStd:
			if s.std && target == nil {
				target = s
			}
		case s.foreign && (target == nil || !target.foreign), s.local && target == nil:
			target = s
		case s.move && s.std:
			after = s
		}
	}
	return target, after
}
