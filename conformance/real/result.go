package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// An outcomes is how tests ended, by package and name: "pass", "fail" or "skip". A package that
// failed and has no test that did, as it does not compile or was killed, is there by its path.
type outcomes map[string]string

// read reads what go test -json prints.
func read(text []byte) (outcomes, error) {
	all := outcomes{}
	failed := map[string]bool{} // packages with a test that failed
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var e struct{ Action, Package, Test string }
		switch err := d.Decode(&e); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		ended := e.Action == "pass" || e.Action == "fail" || e.Action == "skip"
		switch {
		case !ended:
		case e.Test != "":
			all[e.Package+" "+e.Test] = e.Action
			failed[e.Package] = failed[e.Package] || e.Action == "fail"
		case e.Action == "fail" && !failed[e.Package]:
			all[e.Package] = e.Action
		}
	}
}

// count counts the outcomes that are this one.
func (o outcomes) count(outcome string) (n int) {
	for _, have := range o {
		if have == outcome {
			n++
		}
	}
	return n
}

func (o outcomes) String() string {
	s := fmt.Sprintf("%d passed", o.count("pass"))
	for _, also := range []struct{ outcome, word string }{{"fail", "failed"}, {"skip", "skipped"}} {
		if n := o.count(also.outcome); n > 0 {
			s += fmt.Sprintf(", %d %s", n, also.word)
		}
	}
	return s
}

// A result is what became of a library.
type result struct {
	files       int      // changed
	kept        []string // what was left as it is, by file and line
	std, foliot outcomes
}

// worse lists the tests that failed, or did not run to their end, on Foliot alone.
func (r *result) worse() (names []string) {
	for name, outcome := range r.foliot {
		if outcome == "fail" && r.std[name] != "fail" {
			names = append(names, name)
		}
	}
	for name := range r.std {
		if _, ran := r.foliot[name]; !ran {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// row is the library's row of the table.
func (r *result) row(l library) string {
	return fmt.Sprintf("| `%s` | %s | %s | %d | %d | %s | %s |", l.module, l.version,
		strings.Join(l.packages, " "), r.files, len(r.foliot), r.std, r.foliot)
}

// notes lists what was left as it is and what failed.
func (r *result) notes(l library) (notes []string) {
	for _, k := range r.kept {
		notes = append(notes, l.module+": "+k)
	}
	for _, name := range r.worse() {
		notes = append(notes, "failed on Foliot alone: "+name)
	}
	for _, name := range slices.Sorted(maps.Keys(r.std)) {
		if r.std[name] != "fail" {
			continue
		}
		where := "on the standard library alone"
		if r.foliot[name] == "fail" {
			where = "on both"
		}
		notes = append(notes, "failed "+where+": "+name)
	}
	return notes
}
