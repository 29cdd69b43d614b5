package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// A sum is what go.sum says about a version of a module.
type sum struct{ zip, goMod string }

// hash returns the sum of the module in a folder of a git repository as its working tree is. It depends on nothing
// but the files of the module, the LICENSE of the root among them: so it is known before there is a tag.
func hash(root, folder string, m module.Version) (sum, error) {
	if _, err := git(root, "add", "--all"); err != nil {
		return sum{}, err
	}
	tree, err := git(root, "write-tree")
	if err != nil {
		return sum{}, err
	}
	dir, err := os.MkdirTemp("", "foliot-zip-")
	if err != nil {
		return sum{}, err
	}
	defer os.RemoveAll(dir)
	file, err := os.Create(filepath.Join(dir, "module.zip"))
	if err != nil {
		return sum{}, err
	}
	defer file.Close()
	subdir := folder
	if folder == "." {
		subdir = ""
	}
	if err := zip.CreateFromVCS(file, m, root, tree, subdir); err != nil {
		return sum{}, err
	}
	var s sum
	if s.zip, err = dirhash.HashZip(file.Name(), dirhash.Hash1); err != nil {
		return sum{}, err
	}
	data, err := os.ReadFile(filepath.Join(root, folder, "go.mod"))
	if err != nil {
		return sum{}, err
	}
	s.goMod, err = dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	})
	return s, err
}

// setSums writes the sums of the modules that a go.mod requires into its go.sum, in the order of the go command. It
// removes those of their other versions.
func setSums(file string, f *modfile.File, sums map[string]sum) error {
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	hashes := make(map[module.Version]string)
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return fmt.Errorf("%s: the line %q does not have three fields: run go mod tidy", file, line)
		}
		if _, ok := sums[fields[0]]; !ok {
			hashes[module.Version{Path: fields[0], Version: fields[1]}] = fields[2]
		}
	}
	for _, r := range f.Require {
		if s, ok := sums[r.Mod.Path]; ok {
			hashes[r.Mod] = s.zip
			hashes[module.Version{Path: r.Mod.Path, Version: r.Mod.Version + "/go.mod"}] = s.goMod
		}
	}
	if len(hashes) == 0 {
		return nil // there need not be a file
	}
	order := slices.Collect(maps.Keys(hashes))
	module.Sort(order)
	var text strings.Builder
	for _, m := range order {
		fmt.Fprintf(&text, "%s %s %s\n", m.Path, m.Version, hashes[m])
	}
	return os.WriteFile(file, []byte(text.String()), 0o666)
}
