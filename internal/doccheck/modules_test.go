package doccheck

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const rootModule = "github.com/foliot-go/foliot"

// publishedModules are the folders of the modules that are published, besides the root module. Users build
// one of them with whatever versions of the others they require, so it may use only what those promise.
var publishedModules = []string{"cmd", "durable", "prometheus"}

// TestNoModuleImportsInternalPackagesOfAnother reads the imports of each file that users build. Tests may
// import what they like: nobody builds them outside of the repository.
func TestNoModuleImportsInternalPackagesOfAnother(t *testing.T) {
	if _, err := os.Stat(filepath.Join("..", "..", "go.work")); err != nil {
		t.Skip("this is not a checkout of the repository")
	}
	for _, module := range publishedModules {
		files := 0
		root := filepath.Join("..", "..", module)
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || name != root && isModule(name)):
				return fs.SkipDir
			case d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			files++
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, spec := range file.Imports {
				path, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					return err
				}
				if isForeignInternal(rootModule+"/"+module, path) {
					t.Errorf("%s imports %s, an internal package of another module", name, path)
				}
			}
			return nil
		})
		if err != nil || files == 0 {
			t.Errorf("module %s: %d files were read, and the error is %v", module, files, err)
		}
	}
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// isForeignInternal reports whether a path is that of an internal package of this repository, but not of the
// module.
func isForeignInternal(module, path string) bool {
	return strings.HasPrefix(path, rootModule+"/") &&
		strings.Contains(path+"/", "/internal/") &&
		!strings.HasPrefix(path, module+"/")
}

func TestInternalPackagesOfOtherModulesAreFound(t *testing.T) {
	for path, want := range map[string]bool{
		rootModule + "/internal/engine":          true,
		rootModule + "/internal":                 true,
		rootModule + "/cmd/internal/serve":       true,
		rootModule + "/durable/internal/kvstore": false,
		rootModule + "/durable/local":            false,
		rootModule + "/wheel":                    false,
		"example.com/internal/x":                 false,
	} {
		if got := isForeignInternal(rootModule+"/durable", path); got != want {
			t.Errorf("%s is an internal package of another module than durable: %t, want %t", path, got, want)
		}
	}
}
