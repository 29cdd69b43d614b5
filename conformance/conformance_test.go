// Package conformance runs the Go project's own tests of timers against the drop-ins: those that come with the
// Go release in use, read from GOROOT, rewritten to import the drop-ins, in a module of their own.
//
//	go test ./conformance              once, and once more under the race detector
//	go test -short ./conformance       once
//	go test ./conformance -runs=10     ten processes each, one after the other
//	go test ./conformance -std         against the standard library: what fails here, fails without Foliot
//
// Every test, example with an output and benchmark (for one iteration) of the files in question has to be seen
// to pass; one that is skipped or does not run fails. What had to be left out is in [omissions] and docs/compat.md.
package conformance

import (
	"flag"
	"strings"
	"testing"
)

var (
	runs    = flag.Int("runs", 1, "run each suite so many `times`, each in a process of its own")
	useStd  = flag.Bool("std", false, "test the standard library itself")
	verbose = flag.Bool("outputs", false, "log what the suites print, also when they pass")
)

func TestTimePassesGosTests(t *testing.T)                     { conform(t, timeSuite, false) }
func TestTimePassesGosTestsUnderTheRaceDetector(t *testing.T) { conform(t, timeSuite, true) }

func TestContextPassesGosTests(t *testing.T)                     { conform(t, contextSuite, false) }
func TestContextPassesGosTestsUnderTheRaceDetector(t *testing.T) { conform(t, contextSuite, true) }

// conform runs a suite against the drop-in.
func conform(t *testing.T, s suite, race bool) {
	if race && testing.Short() {
		t.Skip("once is enough for -short")
	}
	target := dropIn
	if *useStd {
		target = standard
	}
	m, err := s.read(goroot(t, s.pkg), release(t), target)
	if err != nil {
		t.Fatal(err)
	}
	binary := build(t, s.pkg, m, race)
	for range *runs {
		output, err := run(t, binary)
		for _, complaint := range m.judge(output, err) {
			t.Error(complaint)
		}
		if t.Failed() || *verbose {
			t.Logf("%s", strings.ReplaceAll(output, marker, ""))
		}
		if t.Failed() {
			return
		}
	}
}

// dropIn returns what a test imports instead of path, "" for nothing.
func dropIn(path string) string {
	if path == "time" || path == "context" {
		return modulePath + "/" + path
	}
	return standard(path)
}

func standard(path string) string {
	if strings.HasPrefix(path, "internal/") {
		return ""
	}
	return path
}
