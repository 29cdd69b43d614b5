package fix

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"path/filepath"

	"golang.org/x/tools/go/packages"
)

// A verdict takes a unit out of the plan.
type verdict struct {
	unit
	note Note
}

// settle takes units out of the plan until the program compiles. Each round takes out at least one, and with
// none left the program is the one that was loaded, which compiles.
func (p *plan) settle() error {
	p.keepReaders()
	for {
		var verdicts []verdict
		for _, b := range p.builds {
			for _, pr := range b.check(p) {
				verdicts = append(verdicts, p.judge(b, pr)...)
			}
		}
		verdicts = append(verdicts, p.judgeAsserts()...)
		if len(verdicts) == 0 {
			return nil
		}
		before := len(p.moved)
		for _, v := range verdicts {
			delete(p.moved, v.unit)
			p.refused = append(p.refused, v.note)
		}
		if len(p.moved) == before {
			return fmt.Errorf("%s", verdicts[0].note)
		}
	}
}

// keepReaders takes out the units that mention a variable which the program assigns to: the drop-in has a
// variable of its own, which would not follow.
func (p *plan) keepReaders() {
	for u := range p.moved {
		for v := range p.reads[u] {
			name := path.Base(u.from) + "." + v
			if where, ok := p.assigned[name]; ok {
				delete(p.moved, u)
				p.refuse(p.units[u].pos, "the file mentions "+name+", to which "+brief(where)+" assigns")
				break
			}
		}
	}
}

// judge finds the units to take out for a problem. If the file it is in has moved, that file. Otherwise
// those that declare the timers which the declaration at that place deals with.
func (p *plan) judge(b *build, pr problem) []verdict {
	from := p.timers()
	pos := b.position(pr.pos)
	if u := (unit{pos.Filename, from}); p.moved[u] {
		return []verdict{{u, Note{pos, pr.why}}}
	}
	units := p.suppliers(b, pr.pos)
	for _, pkgs := range [][]*packages.Package{{pr.pkg}, b.below(pr.pkg), b.pkgs} {
		if len(units) > 0 {
			break
		}
		for _, pkg := range pkgs {
			for _, f := range pkg.Syntax {
				if u := (unit{b.fileName(pkg, f), from}); p.moved[u] {
					units = append(units, u)
				}
			}
		}
	}
	if len(units) == 0 {
		return []verdict{{unit{}, Note{pos, pr.why}}}
	}
	var verdicts []verdict
	for _, u := range units {
		verdicts = append(verdicts, verdict{u, Note{p.units[u].pos, brief(pos) + " " + pr.why}})
	}
	return verdicts
}

// suppliers follows the timers that are used in the declaration at pos to where they are declared, and further
// if the type is not written there, until it comes to units that are moved.
func (p *plan) suppliers(b *build, pos token.Pos) []unit {
	from := p.timers()
	var units []unit
	seen := map[ast.Decl]bool{}
	var visit func(pos token.Pos)
	visit = func(pos token.Pos) {
		name := b.position(pos).Filename
		if u := (unit{name, from}); p.moved[u] {
			units = append(units, u)
			return
		}
		at := b.where[name]
		if at.file == nil {
			return
		}
		for _, d := range at.file.Decls {
			if pos < d.Pos() || pos >= d.End() || seen[d] {
				continue
			}
			seen[d] = true
			ast.Inspect(d, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					if obj := at.pkg.TypesInfo.Uses[id]; obj != nil && obj.Pos().IsValid() && speaksOf(obj, from) {
						visit(obj.Pos())
					}
				}
				return true
			})
		}
	}
	visit(pos)
	return units
}

// speaksOf reports whether the declaration of an object mentions Timer or Ticker.
func speaksOf(obj types.Object, path string) bool {
	if t, ok := obj.(*types.TypeName); ok {
		return mentions(t.Type().Underlying(), path)
	}
	return mentions(obj.Type(), path)
}

// below lists the packages that a package depends on.
func (b *build) below(top *packages.Package) []*packages.Package {
	var list []*packages.Package
	packages.Visit([]*packages.Package{top}, nil, func(p *packages.Package) { list = append(list, p) })
	return list
}

// judgeAsserts keeps packages with type assertions to Timer or Ticker in one piece: the compiler does not see
// that a value of the one type never is of the other, so all their files move or none.
func (p *plan) judgeAsserts() []verdict {
	var verdicts []verdict
	for pkg, where := range p.asserts {
		var moved []unit
		stays := ""
		for name := range p.members[pkg] {
			u := unit{name, p.timers()}
			found, ok := p.units[u]
			switch {
			case !ok || !found.typed:
			case p.moved[u]:
				moved = append(moved, u)
			case stays == "" || name < stays:
				stays = name
			}
		}
		if stays == "" {
			continue
		}
		for _, u := range moved {
			why := fmt.Sprintf("type assertion at %s: must stay alike with %s", brief(where[0]), filepath.Base(stays))
			verdicts = append(verdicts, verdict{u, Note{p.units[u].pos, why}})
		}
	}
	return verdicts
}

// brief is a position within a text about another.
func brief(pos token.Position) string {
	return fmt.Sprintf("%s:%d", filepath.Base(pos.Filename), pos.Line)
}
