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

// A foreign bubble is a testing/synctest bubble other than the place in which a runtime, a
// queue, a loop, a timer or a context was made. The place may be another bubble, or the
// program outside of all bubbles.
//
// A call in a foreign bubble must return an error, return false, panic with a text that
// names the bubble, or do what it does elsewhere. The same holds for a call from outside on
// what was made in a bubble. In the place where the object was made it must work afterwards
// as if nothing had happened.

// A foreignCase is one use of the library in a foreign place.
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
	return groups
}

const (
	// foreignVariable is set in a child process. It has the number of the group, and of the
	// first case to be run.
	foreignVariable = "FOLIOT_CONTRACT_FOREIGN"

	// foreignLimit is how long a case may take. A case takes some 30 ms.
	foreignLimit = 10 * second

	// foreignOutput bounds the output of a case that is shown.
	foreignOutput = 2500
)

// The cases run in child processes, since many mistakes in the use of a bubble are fatal
// errors. When a case fails or crashes, another child runs the cases after it.
func TestInAForeignBubbleEveryCallIsRefusedOrWorksAndBreaksNothing(t *testing.T) {
	groups := foreignGroups()
	if where := os.Getenv(foreignVariable); where != "" {
		var group, first int
		if _, err := fmt.Sscan(where, &group, &first); err != nil {
			t.Fatal(err)
		}
		runForeignCases(t, groups[group].cases, first)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Skip("this platform does not tell where the program is")
	}
	for g, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel() // with the other groups
			texts := inChildren(self, g, len(group.cases))
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

// The lines that a child writes before and after each case.
const (
	beginLine = "foreign-case-begins"
	endLine   = "foreign-case-ends"
)

// runForeignCases runs in a child. It ends after a case that has failed: the default runtime
// is not what it was.
func runForeignCases(t *testing.T, cases []foreignCase, first int) {
	for i, c := range cases[first:] {
		fmt.Printf("\n%s %d\n", beginLine, first+i)
		watch := time.AfterFunc(foreignLimit, func() {
			fmt.Printf("the case does not end\n%s\n", testkit.Stacks())
			os.Exit(3)
		})
		ok := t.Run(c.name, c.run)
		watch.Stop()
		fmt.Printf("\n%s %t\n", endLine, ok)
		if !ok {
			return
		}
	}
}

// inChildren runs the cases of a group and returns a text for each. The text is empty if
// the case has passed.
func inChildren(self string, group, cases int) []string {
	texts := make([]string, cases)
	for first := 0; first < cases; {
		ctx, cancel := context.WithCancel(context.Background())
		out := &childOutput{silent: time.AfterFunc(2*foreignLimit, cancel)}
		child := exec.CommandContext(ctx, self, "-test.run=^TestInAForeignBubbleEveryCallIsRefusedOrWorksAndBreaksNothing$", "-test.v", "-test.timeout=0")
		child.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d", foreignVariable, group, first), "GORACE=atexit_sleep_ms=0")
		child.Stdout, child.Stderr = out, out
		err := child.Run()
		cancel()
		next := readForeignOutput(out.text.String(), texts)
		if next <= first {
			texts[first] = fmt.Sprintf("the child does not begin: %v\n%s", err, shortened(out.text.String()))
			next = first + 1
		}
		first = next
	}
	return texts
}

// A childOutput is what a child has written. The timer silent goes off if the child writes
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
			continue // what comes before the first case
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
