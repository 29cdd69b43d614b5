package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// names is a set of exported names.
type names map[string]bool

// union returns the union of both sets.
func (n names) union(m names) names {
	sum := maps.Clone(n)
	maps.Copy(sum, m)
	return sum
}

// A source holds the exported names that the files of a drop-in declare.
type source struct {
	name      string
	byHand    names
	generated map[int]names // by release, as in fileName
}

// readPackage reads the names that the drop-in in dir declares, without methods and tests. The drop-in need not compile.
func readPackage(dir string) (source, error) {
	src := source{byHand: make(names), generated: make(map[int]names)}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return src, err
	}
	fset := token.NewFileSet()
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return src, err
		}
		if src.name != "" && src.name != file.Name.Name {
			return src, fmt.Errorf("%s: two packages in one directory, %s and %s", dir, src.name, file.Name.Name)
		}
		src.name = file.Name.Name
		if ast.IsGenerated(file) {
			release, err := releaseOf(filepath.Base(path))
			if err != nil {
				return src, err
			}
			src.generated[release] = exported(file)
		} else {
			maps.Copy(src.byHand, exported(file))
		}
	}
	if src.name == "" {
		return src, fmt.Errorf("%s: no Go files", dir)
	}
	return src, nil
}

// releaseOf is the inverse of fileName.
func releaseOf(file string) (int, error) {
	if file == fileName(0) {
		return 0, nil
	}
	var release int
	if _, err := fmt.Sscanf(file, "zaliases_go1.%d.go", &release); err != nil || fileName(release) != file {
		return 0, fmt.Errorf("%s: generated, but not by aliasgen", file)
	}
	return release, nil
}

// exported returns the exported names that a file declares at package level.
func exported(file *ast.File) names {
	n := make(names)
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				n[id.Name] = true
			}
		}
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				add(decl.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name)
				case *ast.ValueSpec:
					add(spec.Names...)
				}
			}
		}
	}
	return n
}

// releases returns the minor version of the Go release in use, and that of the release in the go.mod of the module
// around dir.
func releases(dir string) (current, oldest int, err error) {
	out, err := goCommand(dir, "list", "-f", "{{.Module.GoVersion}} {{context.ReleaseTags}}", ".")
	if err != nil {
		return 0, 0, err
	}
	version, tags, _ := strings.Cut(string(out), " ")
	if _, err := fmt.Sscanf(version, "1.%d", &oldest); err != nil {
		return 0, 0, fmt.Errorf("go.mod: go %s: %w", version, err)
	}
	tags = strings.Trim(tags, "[]\n")
	if _, err := fmt.Sscanf(tags[strings.LastIndex(tags, " ")+1:], "go1.%d", &current); err != nil {
		return 0, 0, fmt.Errorf("release tags %s: %w", tags, err)
	}
	return current, oldest, nil
}

// loadCompiled returns the compiled packages with the given import paths. They are loaded together, so that their types
// can be compared with each other.
func loadCompiled(fset *token.FileSet, dir string, paths ...string) (map[string]*types.Package, error) {
	out, err := goCommand(dir, append([]string{"list", "-export", "-deps", "-json=ImportPath,Export"}, paths...)...)
	if err != nil {
		return nil, err
	}
	exports := make(map[string]string)
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
	}
	imp := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	pkgs := make(map[string]*types.Package)
	for _, path := range paths {
		if pkgs[path], err = imp.Import(path); err != nil {
			return nil, err
		}
	}
	return pkgs, nil
}

// goCommand runs the go command in dir and returns its output.
func goCommand(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, nil
}
