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

// outcomes holds "pass", "fail" or "skip" for each test, by package and name. A package that failed
// without a failed test, because it does not compile or was killed, has an entry for its path.
type outcomes map[string]string

// parseOutcomes parses the output of go test -json.
func parseOutcomes(text []byte) (outcomes, error) {
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

// count returns how many tests have this outcome.
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

// A result is the comparison of one library.
type result struct {
	files       int      // number of changed files
	refused     []string // messages of foliot-fix about what it did not change
	std, foliot outcomes
}

// worse returns the tests that failed, or did not finish, only with Foliot's timers.
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

// row returns the row of the table for a library.
func (r *result) row(l library) string {
	return fmt.Sprintf("| `%s` | %s | %s | %d | %d | %s | %s |", l.module, l.version,
		strings.Join(l.packages, " "), r.files, len(r.foliot), r.std, r.foliot)
}

// notes returns the messages of foliot-fix and the failed tests.
func (r *result) notes(l library) (notes []string) {
	for _, k := range r.refused {
		notes = append(notes, l.module+": "+k)
	}
	for _, name := range r.worse() {
		notes = append(notes, "failed only on Foliot: "+name)
	}
	for _, name := range slices.Sorted(maps.Keys(r.std)) {
		if r.std[name] != "fail" {
			continue
		}
		where := "only on the standard library"
		if r.foliot[name] == "fail" {
			where = "on both"
		}
		notes = append(notes, "failed "+where+": "+name)
	}
	return notes
}
