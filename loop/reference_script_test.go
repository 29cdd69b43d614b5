package loop_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
)

// A scriptOp is an operation of a program that a script executes on another event loop.
// It is a name and two arguments, in JSON.
type scriptOp [3]any

func makeOp(name string, a, b int) scriptOp { return scriptOp{name, a, b} }

func (o scriptOp) parts() (name string, a, b int) { return o[0].(string), o[1].(int), o[2].(int) }

// randomBody returns n operations, each with one of the given names. The first argument
// is the number of a body, and the second is below limit.
func randomBody(rng *rand.Rand, n, bodies, limit int, names ...string) []scriptOp {
	ops := []scriptOp{} // nil would become null in JSON
	for range n {
		ops = append(ops, makeOp(names[rng.IntN(len(names))], 1+rng.IntN(bodies-1), rng.IntN(limit)))
	}
	return ops
}

// interpret lets an interpreter run a script on programs, and decodes the traces that the
// script prints. It skips the test if the interpreter is not installed or cannot run
// probe, and under the race detector, because the programs have one goroutine.
func interpret(t *testing.T, interpreter []string, probe, script string, programs, traces any) {
	t.Helper()
	testkit.SkipUnderRace(t, "the programs have one goroutine")
	// The go command does not see what the interpreter reads. It must not take a result from its
	// cache when the script has changed.
	if _, err := os.Stat(script); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath(interpreter[0])
	if err != nil {
		t.Skipf("%s is not installed: %v", interpreter[0], err)
	}
	command := func(script string) *exec.Cmd {
		return exec.CommandContext(t.Context(), path, append(interpreter[1:len(interpreter):len(interpreter)], script)...)
	}
	check := command("-")
	check.Stdin = strings.NewReader(probe)
	if out, err := check.CombinedOutput(); err != nil {
		t.Skipf("%s does not work: %v\n%s", path, err, out)
	}
	input, err := json.Marshal(programs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(script)
	cmd.Stdin = bytes.NewReader(input)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v %s: %v\n%s", interpreter, script, err, stderr.String())
	}
	if err := json.Unmarshal(out, traces); err != nil {
		t.Fatalf("%v %s: %v in %.200q", interpreter, script, err, out)
	}
}
