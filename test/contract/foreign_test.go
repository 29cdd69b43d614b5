package contract_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

// An object of the library is made in a place: in a testing/synctest bubble, or outside of all
// bubbles. A foreign bubble is a bubble in which the object was not made.
//
// A call in a foreign bubble must return an error, return false, panic with a message that names
// the bubble, or work as usual. The same holds for a call from outside on an object that was made
// in a bubble. Afterwards the object must work as usual in the place where it was made.

// A foreignCase is one use of an object in a place where it was not made.
type foreignCase struct {
	name   string
	covers []string // the functions and methods that it calls, as exportedNames returns them
	run    func(t *testing.T)
}

// A foreignGroup is a list of cases that share a child process.
type foreignGroup struct {
	name  string
	cases []foreignCase
}

func foreignGroups() []foreignGroup {
	var groups []foreignGroup
	groups = append(groups, runtimeGroups()...)
	groups = append(groups, foreignGroup{"functions", functionCases()})
	groups = append(groups, loopGroups()...)
	groups = append(groups, foreignGroup{"time", dropInTimeCases()})
	groups = append(groups, foreignGroup{"context", dropInContextCases()})
	groups = append(groups, foreignGroup{"wheel", wheelCases()})
	groups = append(groups, foreignGroup{"clock", clockCases()})
	return groups
}

const (
	// foreignVariable is set in a child process. It has the index of the group and of the first
	// case to run.
	foreignVariable = "FOLIOT_CONTRACT_FOREIGN"

	// foreignLimit is how long a case may take. A case takes some 30 ms.
	foreignLimit = 10 * second

	// foreignOutput is the maximum length of the output of a case in an error.
	foreignOutput = 2500
)

// The cases run in child processes, since many mistakes in the use of a bubble are fatal errors.
// When a case fails or crashes, another child runs the remaining cases.
func TestInAForeignBubbleEveryCallIsRefusedOrWorks(t *testing.T) {
	groups := foreignGroups()
	if value := os.Getenv(foreignVariable); value != "" {
		var group, first int
		if _, err := fmt.Sscan(value, &group, &first); err != nil {
			t.Fatal(err)
		}
		runForeignCases(t, groups[group].cases, first)
		return
	}
	executable, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	for g, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel() // with the other groups
			texts := inChildren(executable, g, len(group.cases))
			for i, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					if texts[i] != "" {
						t.Error(texts[i])
					}
				})
			}
		})
	}
}

// A child writes these lines before and after each case.
const (
	beginLine = "foreign-case-begins"
	endLine   = "foreign-case-ends"
)

// runForeignCases runs the cases from first on, in a child. It returns after a case that fails,
// since this may have changed the default runtime.
func runForeignCases(t *testing.T, cases []foreignCase, first int) {
	for i, c := range cases[first:] {
		fmt.Printf("\n%s %d\n", beginLine, first+i)
		timeout := time.AfterFunc(foreignLimit, func() {
			fmt.Printf("the case has not ended in %v\n%s\n", foreignLimit, testkit.Stacks())
			os.Exit(3)
		})
		ok := t.Run(c.name, c.run)
		timeout.Stop()
		fmt.Printf("\n%s %t\n", endLine, ok)
		if !ok {
			return
		}
	}
}

// inChildren runs the cases of a group and returns a text for each. The text is empty if the case
// has passed.
func inChildren(executable string, group, cases int) []string {
	texts := make([]string, cases)
	for first := 0; first < cases; {
		ctx, cancel := context.WithCancel(context.Background())
		out := &childOutput{silent: time.AfterFunc(2*foreignLimit, cancel)}
		child := exec.CommandContext(ctx, executable,
			"-test.run=^TestInAForeignBubbleEveryCallIsRefusedOrWorks$", "-test.v", "-test.timeout=0")
		child.Env = append(os.Environ(),
			fmt.Sprintf("%s=%d %d", foreignVariable, group, first), "GORACE=atexit_sleep_ms=0")
		child.Stdout, child.Stderr = out, out
		err := child.Run()
		cancel()
		next := readForeignOutput(out.text.String(), texts)
		if next <= first {
			texts[first] = fmt.Sprintf("the child has not started a case: %v\n%s",
				err, shortened(out.text.String()))
			next = first + 1
		}
		first = next
	}
	return texts
}

// A childOutput collects the output of a child. The timer silent ends the child if it writes
// nothing for longer than a case may take: a process does not always end after a fatal error.
type childOutput struct {
	text   strings.Builder
	silent *time.Timer
}

func (o *childOutput) Write(p []byte) (int, error) {
	o.silent.Reset(2 * foreignLimit)
	return o.text.Write(p)
}

// readForeignOutput stores the texts of the cases that a child has begun, and returns the
// number of the case after these.
func readForeignOutput(out string, texts []string) (next int) {
	for part := range strings.SplitSeq(out, "\n"+beginLine+" ") {
		number, text, _ := strings.Cut(part, "\n")
		i, err := strconv.Atoi(number)
		if err != nil {
			continue // the output before the first case
		}
		next = i + 1
		text, result, ended := strings.Cut(text, "\n"+endLine+" ")
		switch {
		case !ended:
			texts[i] = "the process has ended:\n" + shortened(text)
		case !strings.HasPrefix(result, "true"):
			texts[i] = shortened(text)
		}
	}
	return next
}

func shortened(text string) string {
	if len(text) > foreignOutput {
		return text[:foreignOutput] + "\n…"
	}
	return text
}
