// Package conformance runs the Go project's own tests of timers and contexts against the drop-ins.
// It reads the tests of the Go release in use from GOROOT, rewrites them to import the drop-ins,
// and builds them in a separate module.
//
//	go test ./test/conformance              once, and once more under the race detector
//	go test -short ./test/conformance       only the tests of these tests
//	go test ./test/conformance -runs=10     ten processes each, one after the other
//	go test ./test/conformance -std         against the standard library, to find tests that fail there too
//
// Every test, every example with an output and every benchmark (for one iteration) must pass. One
// that is skipped or does not run counts as a failure. The parts of tests that are left out are in
// [omissions] and in docs/compat.md.
//
// To read the code, begin with conformance_test.go. Then: suite_test.go (which tests are taken),
// omissions_test.go (which parts are not), rewrite_test.go (how a file is rewritten), run_test.go
// (how the result is built and run). The tests of these functions are in harness_test.go. testdata
// has replacements for internals of the standard library that Go's tests use.
package conformance

import (
	"flag"
	"strings"
	"testing"

	// The suites are compiled by a go command that these tests start, so the go command that runs
	// them does not see what they depend on. Without the imports it would take the result from its
	// cache after a change in the drop-ins or in what they import.
	_ "github.com/foliot-go/foliot/context"
	"github.com/foliot-go/foliot/internal/testkit"
	_ "github.com/foliot-go/foliot/time"
)

var (
	runs    = flag.Int("runs", 1, "number of `times` to run each suite, each in a new process")
	useStd  = flag.Bool("std", false, "test the standard library itself")
	verbose = flag.Bool("outputs", false, "log the output of the suites even if they pass")
)

func TestTimePassesGosTests(t *testing.T)                     { testSuite(t, timeSuite, false) }
func TestTimePassesGosTestsUnderTheRaceDetector(t *testing.T) { testSuite(t, timeSuite, true) }

func TestContextPassesGosTests(t *testing.T) { testSuite(t, contextSuite, false) }

func TestContextPassesGosTestsUnderTheRaceDetector(t *testing.T) { testSuite(t, contextSuite, true) }

// testSuite runs a suite against the drop-in.
func testSuite(t *testing.T, s suite, race bool) {
	testkit.SkipIfShort(t)
	target := dropIn
	if *useStd {
		target = standard
	}
	m, err := s.read(sourceDir(t, s.pkg), goRelease(t), target)
	if err != nil {
		t.Fatal(err)
	}
	binary := build(t, s.pkg, m, race)
	for range *runs {
		output, err := run(t, binary)
		for _, problem := range m.problems(output, err) {
			t.Error(problem)
		}
		if t.Failed() || *verbose {
			t.Logf("%s", strings.ReplaceAll(output, markerByte, ""))
		}
		if t.Failed() {
			return
		}
	}
}

// dropIn returns the path that a test imports instead of path, or "" for none.
func dropIn(path string) string {
	if path == "time" || path == "context" {
		return modulePath + "/" + path
	}
	return standard(path)
}

// standard is like dropIn but keeps the standard packages.
func standard(path string) string {
	if strings.HasPrefix(path, "internal/") {
		return ""
	}
	return path
}
