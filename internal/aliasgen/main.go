// Command aliasgen generates the part of a drop-in package that comes from the standard package. Every exported name
// that the drop-in does not declare by hand becomes an alias or, for a function, a call.
//
//	//go:generate go run ../internal/aliasgen
//
// It works on the package in the current directory, whose name is the import path of the standard package. The names
// that the Go release in go.mod exports go into zaliases.go. Run with a newer release, it writes only the additional
// names, into a file that older releases do not compile, such as zaliases_go1.27.go. So the drop-in is complete for every
// release that it was generated for, and builds with the oldest one.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"log"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("aliasgen: ")
	if err := update("."); err != nil {
		log.Fatal(err)
	}
}

// update writes the generated files of the drop-in in dir that have changed, and removes those that should not exist.
func update(dir string) error {
	files, err := generate(dir)
	if err != nil {
		return err
	}
	for name, want := range files {
		path := filepath.Join(dir, name)
		have, err := os.ReadFile(path)
		switch {
		case want == nil:
			err = os.Remove(path)
		case err != nil || !bytes.Equal(have, want):
			err = os.WriteFile(path, want, 0o666)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// generate returns the contents of the generated files for the Go release in use, by name. The contents are nil for a
// file that should not exist. Files of newer releases are not included, because this release does not have their names.
func generate(dir string) (map[string][]byte, error) {
	src, err := readPackage(dir)
	if err != nil {
		return nil, err
	}
	current, oldest, err := releases(dir)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	pkgs, err := loadCompiled(fset, dir, src.name)
	if err != nil {
		return nil, err
	}
	std := pkgs[src.name]
	if current < oldest {
		return nil, fmt.Errorf("go.mod requires Go 1.%d, this is Go 1.%d", oldest, current)
	}

	files := make(map[string][]byte)
	declared := src.byHand
	for release, names := range src.generated {
		switch {
		case release == 0 || oldest < release && release < current:
			if current > oldest {
				declared = declared.union(names)
			}
		case release <= oldest:
			files[fileName(release)] = nil
		}
	}
	var missing []types.Object
	for _, name := range std.Scope().Names() {
		if token.IsExported(name) && !declared[name] {
			missing = append(missing, std.Scope().Lookup(name))
		}
	}
	slices.SortStableFunc(missing, func(a, b types.Object) int { // in the order of the standard package's files
		p, q := fset.Position(a.Pos()), fset.Position(b.Pos())
		return cmp.Or(cmp.Compare(p.Filename, q.Filename), cmp.Compare(p.Line, q.Line))
	})

	release := 0
	if current > oldest {
		release = current
		if len(missing) == 0 {
			if src.generated[release] != nil {
				files[fileName(release)] = nil
			}
			return files, nil
		}
	}
	files[fileName(release)], err = render(std, missing, release)
	return files, err
}

// fileName returns the name of the file for the names that Go 1.release has added. Release 0 stands for all names of the
// release in go.mod.
func fileName(release int) string {
	if release == 0 {
		return "zaliases.go"
	}
	return fmt.Sprintf("zaliases_go1.%d.go", release)
}
