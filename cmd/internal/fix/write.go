package fix

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Write writes the changed files. It first writes all new contents to temporary files beside the old ones, and then
// renames them. So a file has either its old contents or its new ones, and nothing has changed if the disk is full.
func Write(changes []Change) (err error) {
	type step struct{ temp, name string }
	var steps []step
	defer func() {
		for _, s := range steps {
			if rest := os.Remove(s.temp); rest != nil && !errors.Is(rest, os.ErrNotExist) {
				err = errors.Join(err, rest)
			}
		}
	}()
	for _, c := range changes {
		name, err := filepath.EvalSymlinks(c.File) // a symbolic link stays a link
		if err != nil {
			return err
		}
		temp, err := prepare(name, c)
		if temp != "" {
			steps = append(steps, step{temp, name})
		}
		if err != nil {
			return err
		}
	}
	for i, s := range steps {
		if err := os.Rename(s.temp, s.name); err != nil {
			return fmt.Errorf("%w (%d of %d files were changed)", err, i, len(steps))
		}
	}
	return nil
}

// prepare writes the new contents to a temporary file beside the old one and returns its name.
func prepare(name string, c Change) (temp string, err error) {
	now, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	if !bytes.Equal(now, c.Before) {
		return "", fmt.Errorf("%s was changed meanwhile", name)
	}
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".foliot-fix-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(c.After)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Chmod(f.Name(), info.Mode().Perm())
	}
	return f.Name(), err
}
