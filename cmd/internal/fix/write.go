package fix

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Write writes the changed files. All are prepared beside the old ones before the first is put in its place, by a
// rename: a file has its old contents or its new, and when space runs out nothing has changed.
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
		name, err := filepath.EvalSymlinks(c.File) // a link stays one
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

// prepare writes the new contents to a file beside the old and returns its name.
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
