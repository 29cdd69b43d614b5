// Package foreign_test checks what the library does in a testing/synctest bubble to which it does not
// belong.
//
// An object of the library is made in a place: in a bubble, or outside of all bubbles. A foreign bubble
// is a bubble in which the object was not made. A call there returns an error, returns false, panics
// with a message that names the bubble, or works as usual. The same holds for a call from outside on an
// object that was made in a bubble. Afterwards the object works as usual in the place where it was made.
//
// The tables have a row for each exported function and method, with what it does. FOLIOT_FULL=1 tries
// each row with more variants.
package foreign_test

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

// full reports whether the rows are to be tried with all variants.
func full() bool { return os.Getenv("FOLIOT_FULL") != "" }

// An outcome is what a call does, as far as this test tells outcomes apart.
type outcome string

const (
	itWorks outcome = "works"
	anError outcome = "returns an error that names the bubble"
	no      outcome = "returns false, 0 or nil"
	aPanic  outcome = "panics with a message that names the bubble"
)

// A want returns the outcome that a call must have.
type want func(v variant) outcome

// works is for calls that work in every place.
func works(variant) outcome { return itWorks }

// enters is for calls that read the clock or start a goroutine: they are refused unless the clock is a
// manual one and was made outside of all bubbles.
func enters(refused outcome) want {
	return func(v variant) outcome {
		if v.manual && !v.made {
			return itWorks
		}
		return refused
	}
}

// waits is for calls that make a channel and wait on it: they are always refused.
func waits(refused outcome) want {
	return func(variant) outcome { return refused }
}

// wakes is for calls that wake goroutines or use channels of the object: they are refused if that was
// made in a bubble.
func wakes(refused outcome) want {
	return func(v variant) outcome {
		if v.made {
			return refused
		}
		return itWorks
	}
}

// outcomeOf makes a call. The call has worked if it returns nil or true, and was refused if it returns
// an error or false, or panics. The message begins with the name of the package.
func outcomeOf(pkg string, call func() any) (o outcome) {
	ofText := func(how outcome, text string) outcome {
		if strings.HasPrefix(text, pkg+":") && strings.Contains(text, "bubble") {
			return how
		}
		return outcome(fmt.Sprintf("does not name the bubble: %q", text))
	}
	defer func() {
		if v := recover(); v != nil {
			o = ofText(aPanic, fmt.Sprint(v))
		}
	}()
	switch v := call().(type) {
	case nil:
		return itWorks
	case error:
		return ofText(anError, v.Error())
	case bool:
		if v {
			return itWorks
		}
		return no
	default:
		panic(fmt.Sprintf("the row returns a value of type %T", v))
	}
}

// unless returns nil if ok is true, and otherwise an error with a text.
func unless(ok bool, format string, args ...any) any {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// A foreignCase is one use of an object in a place where it was not made.
type foreignCase struct {
	name   string
	covers []string // the functions and methods that it calls, as exportedNames returns them
	run    func(t *testing.T)
}

// covered returns the name of the function or method of a row, which is followed by a comma and the
// condition.
func covered(pkg, row string) string {
	name, _, _ := strings.Cut(row, ",")
	return pkg + "." + name
}

// A group is a list of cases that share a child process.
type group struct {
	name  string
	cases []foreignCase
}

func groups() []group {
	return []group{
		{"timers", runtimeCases(timerRows, channelRows)},
		{"tasks, queues and expirers", runtimeCases(taskRows, pollRows, queueRows, expirerRows)},
		{"runtimes", runtimeCases(waitRows, statsRows, shutdownRows)},
		{"loop", loopCases()},
		{"clock", clockCases()},
		{"functions and drop-ins", append(functionCases(), append(timeCases(), contextCases()...)...)},
	}
}

const (
	// variable is set in a child process. It has the index of the group and of the first case to run.
	variable = "FOLIOT_FOREIGN"

	// limit is how long a case may take. A case takes some milliseconds.
	limit = 10 * second
)

// The cases run in child processes, because many mistakes in the use of a bubble end the process. When
// a case fails, another child runs the remaining cases.
func TestInAForeignBubbleEveryCallIsRefusedOrWorks(t *testing.T) {
	groups := groups()
	if value := os.Getenv(variable); value != "" {
		var group, first int
		if _, err := fmt.Sscan(value, &group, &first); err != nil {
			t.Fatal(err)
		}
		runCases(t, groups[group].cases, first)
		return
	}
	executable, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	for g, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			failures := inChildren(executable, g, len(group.cases))
			for i, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					if failures[i] != "" {
						t.Error(failures[i])
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

// runCases runs the cases from first on, in a child. It returns after a case that fails, because that
// may have changed the default runtime.
func runCases(t *testing.T, cases []foreignCase, first int) {
	for i, c := range cases[first:] {
		fmt.Printf("\n%s %d\n", beginLine, first+i)
		timeout := time.AfterFunc(limit, func() {
			fmt.Printf("the case has not ended in %v\n%s\n", limit, testkit.Stacks())
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

// inChildren runs the cases of a group and returns a text for each. The text is empty if the case has
// passed.
func inChildren(executable string, group, cases int) []string {
	failures := make([]string, cases)
	for first := 0; first < cases; {
		ctx, cancel := context.WithCancel(context.Background())
		out := &childOutput{silent: time.AfterFunc(2*limit, cancel)}
		child := exec.CommandContext(ctx, executable,
			"-test.run=^TestInAForeignBubbleEveryCallIsRefusedOrWorks$", "-test.v", "-test.timeout=0")
		child.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d", variable, group, first), "GORACE=atexit_sleep_ms=0")
		child.Stdout, child.Stderr = out, out
		err := child.Run()
		cancel()
		next := readOutput(out.text.String(), failures)
		if next <= first {
			failures[first] = fmt.Sprintf("the child has not started the case: %v\n%s", err, shortened(out.text.String()))
			next = first + 1
		}
		first = next
	}
	return failures
}

// A childOutput collects the output of a child. The timer silent ends the child if it writes nothing for
// longer than a case may take: a process does not always end after a fatal error.
type childOutput struct {
	text   strings.Builder
	silent *time.Timer
}

func (o *childOutput) Write(p []byte) (int, error) {
	o.silent.Reset(2 * limit)
	return o.text.Write(p)
}

// readOutput stores the failures of the cases that a child has begun, and returns the number of the
// case after these.
func readOutput(out string, failures []string) (next int) {
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
			failures[i] = "the process has ended:\n" + shortened(text)
		case !strings.HasPrefix(result, "true"):
			failures[i] = shortened(text)
		}
	}
	return next
}

func shortened(text string) string {
	const most = 2500
	if len(text) > most {
		return text[:most] + "\n…"
	}
	return text
}
