package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

var (
	// published are the folders of the modules that a release consists of, each after those that it requires.
	published = []string{".", "durable", "prometheus", "bench", "cmd", "examples"}

	// unpublished are those of the other modules of go.work. They serve development.
	unpublished = []string{"internal/release", "lab"}
)

// readModules returns the module paths of go.work by folder. Each has its place in one of the lists above.
func readModules(root string) (map[string]string, error) {
	work, err := readGoWork(root)
	if err != nil {
		return nil, err
	}
	paths := make(map[string]string)
	for _, use := range work.Use {
		folder := path.Clean(use.Path)
		if !slices.Contains(published, folder) && !slices.Contains(unpublished, folder) {
			return nil, fmt.Errorf("go.work uses %s: say in internal/release/modules.go whether it is published", folder)
		}
		f, err := readGoMod(root, folder)
		if err != nil {
			return nil, err
		}
		paths[folder] = f.Module.Mod.Path
	}
	for _, folder := range published {
		if paths[folder] == "" {
			return nil, fmt.Errorf("go.work does not use %s, a published module", folder)
		}
	}
	return paths, nil
}

func readGoWork(root string) (*modfile.WorkFile, error) {
	data, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		return nil, err
	}
	return modfile.ParseWork("go.work", data, nil)
}

func readGoMod(root, folder string) (*modfile.File, error) {
	data, err := os.ReadFile(filepath.Join(root, folder, "go.mod"))
	if err != nil {
		return nil, err
	}
	return modfile.Parse(path.Join(folder, "go.mod"), data, nil)
}

// checkMajor returns an error if the path of a published module does not go with the major version.
func checkMajor(paths map[string]string, version string) error {
	for _, folder := range published {
		_, major, _ := module.SplitPathVersion(paths[folder])
		if err := module.CheckPathMajor(version, major); err != nil {
			return fmt.Errorf("the module path %s does not go with %s: %w", paths[folder], version, err)
		}
	}
	return nil
}

// ownPaths returns the set of the paths of all modules.
func ownPaths(paths map[string]string) map[string]bool {
	own := make(map[string]bool)
	for _, p := range paths {
		own[p] = true
	}
	return own
}

// tags returns the names of a release's tags, one for each published module.
func tags(version string) []string {
	var names []string
	for _, folder := range published {
		names = append(names, path.Join(folder, version))
	}
	return names
}

// replaceInWork has go.work replace the published modules at the version by those of the tree. Else a build in the
// tree would ask for them before they are published.
func replaceInWork(root string, paths map[string]string, version string) error {
	work, err := readGoWork(root)
	if err != nil {
		return err
	}
	own := ownPaths(paths)
	for _, r := range slices.Clone(work.Replace) { // in a branch that starts from a release
		if own[r.Old.Path] {
			if err := work.DropReplace(r.Old.Path, r.Old.Version); err != nil {
				return err
			}
		}
	}
	for _, folder := range published {
		if err := work.AddReplace(paths[folder], version, "./"+strings.TrimPrefix(folder, "."), ""); err != nil {
			return err
		}
	}
	work.Cleanup()
	return os.WriteFile(filepath.Join(root, "go.work"), modfile.Format(work.Syntax), 0o666)
}

// setVersions edits the go.mod and go.sum of each published module in the git repository at root: they require each
// other at the version, and nothing is replaced.
func setVersions(root string, paths map[string]string, version string) error {
	sums := make(map[string]sum) // of the modules before, by path
	for _, folder := range published {
		f, err := readGoMod(root, folder)
		if err != nil {
			return err
		}
		if err := edit(f, paths, version, sums); err != nil {
			return err
		}
		data, err := f.Format()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, folder, "go.mod"), data, 0o666); err != nil {
			return err
		}
		if err := setSums(filepath.Join(root, folder, "go.sum"), f, sums); err != nil {
			return err
		}
		if sums[paths[folder]], err = hash(root, folder, module.Version{Path: paths[folder], Version: version}); err != nil {
			return err
		}
	}
	return nil
}

// edit changes the directives of a go.mod. The go command installs no program of a module that replaces or excludes
// others.
func edit(f *modfile.File, paths map[string]string, version string, sums map[string]sum) error {
	own := ownPaths(paths)
	for _, r := range f.Require {
		if !own[r.Mod.Path] {
			continue
		}
		if _, ok := sums[r.Mod.Path]; !ok {
			return fmt.Errorf("%s requires %s, which internal/release/modules.go does not publish before it",
				f.Syntax.Name, r.Mod.Path)
		}
		if err := f.AddRequire(r.Mod.Path, version); err != nil {
			return err
		}
	}
	for _, r := range f.Replace {
		if !own[r.Old.Path] {
			return fmt.Errorf("%s replaces %s: remove that, or the module cannot be installed", f.Syntax.Name, r.Old.Path)
		}
		if err := f.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return err
		}
	}
	if len(f.Exclude) > 0 {
		return fmt.Errorf("%s excludes %s: remove that, or the module cannot be installed",
			f.Syntax.Name, f.Exclude[0].Mod.Path)
	}
	f.Cleanup()
	return nil
}
