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

// A refusal removes a unit from the plan.
type refusal struct {
	unit
	note Note
}

// prune removes units from the plan until the program compiles. Each round removes at least one. With none left the
// program is unchanged, and so it compiles.
func (p *plan) prune() error {
	p.refuseReaders()
	for rank := rankFirst; ; rank = rankFollows {
		var refusals []refusal
		for _, b := range p.builds {
			for _, pr := range b.check(p) {
				refusals = append(refusals, p.refusalsFor(b, pr, rank)...)
			}
		}
		refusals = append(refusals, p.assertRefusals()...)
		if len(refusals) == 0 {
			return nil
		}
		before := len(p.moved)
		for _, v := range refusals {
			delete(p.moved, v.unit)
			p.refused = append(p.refused, v.note)
		}
		if len(p.moved) == before {
			return fmt.Errorf("%s", refusals[0].note)
		}
	}
}

// refuseReaders removes the units that mention a variable to which the program assigns. The drop-in has its own copy of
// the variable, which would keep the old value.
func (p *plan) refuseReaders() {
	for u := range p.moved {
		for v := range p.reads[u] {
			name := path.Base(u.from) + "." + v
			if where, ok := p.assigned[name]; ok {
				delete(p.moved, u)
				p.refuse(p.units[u].pos, "the file mentions "+name+", and "+shortPosition(where)+" assigns to it")
				break
			}
		}
	}
}

// refusalsFor returns the units to remove because of a problem. If the problem is in a moved file, that is the unit of
// this file. Otherwise it is the units that declare the timers used by the declaration at that place, and if there are
// none, all moved units of the package, of its dependencies or of the program.
func (p *plan) refusalsFor(b *build, pr problem, rank int) []refusal {
	from := p.timers()
	pos := b.position(pr.pos)
	if u := (unit{pos.Filename, from}); p.moved[u] {
		return []refusal{{u, Note{pos, pr.why, rank}}}
	}
	units := p.declaringUnits(b, pr.pos)
	for _, pkgs := range [][]*packages.Package{{pr.pkg}, b.dependencies(pr.pkg), b.pkgs} {
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
		return []refusal{{unit{}, Note{pos, pr.why, rank}}}
	}
	var refusals []refusal
	for _, u := range units {
		refusals = append(refusals, refusal{u, Note{p.units[u].pos, shortPosition(pos) + " " + pr.why, rank}})
	}
	return refusals
}

// declaringUnits returns the moved units that declare the timers used by the declaration at pos. If a timer is declared in
// another file without its type, it continues from that declaration.
func (p *plan) declaringUnits(b *build, pos token.Pos) []unit {
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
		at := b.fileOf[name]
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
					if obj := at.pkg.TypesInfo.Uses[id]; obj != nil && obj.Pos().IsValid() && declaresTimer(obj, from) {
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

// declaresTimer reports whether the declaration of an object mentions Timer or Ticker.
func declaresTimer(obj types.Object, path string) bool {
	if t, ok := obj.(*types.TypeName); ok {
		return mentions(t.Type().Underlying(), path)
	}
	return mentions(obj.Type(), path)
}

// dependencies returns a package and all packages that it depends on.
func (b *build) dependencies(top *packages.Package) []*packages.Package {
	var list []*packages.Package
	packages.Visit([]*packages.Package{top}, nil, func(p *packages.Package) { list = append(list, p) })
	return list
}

// assertRefusals removes all units of a package that has type assertions to Timer or Ticker, if one of its files does not
// move. The compiler does not notice that such an assertion can no longer succeed, so either all files move or none.
func (p *plan) assertRefusals() []refusal {
	var refusals []refusal
	for pkg, where := range p.asserts {
		var moved []unit
		stays := ""
		for name := range p.packageFiles[pkg] {
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
			why := fmt.Sprintf("type assertion at %s: cannot change while %s does not", shortPosition(where[0]), filepath.Base(stays))
			refusals = append(refusals, refusal{u, Note{p.units[u].pos, why, rankFollows}})
		}
	}
	return refusals
}

// shortPosition returns a position as base name and line, for use in a message about another place.
func shortPosition(pos token.Position) string {
	return fmt.Sprintf("%s:%d", filepath.Base(pos.Filename), pos.Line)
}
