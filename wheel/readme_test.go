package wheel_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/wheel"
)

// The examples of the README, for the compiler and the tests to see.

type conn struct {
	name     string
	lastRead wheel.Tick
}

func Example_idleConnections() {
	const timeout = 60_000 // ms
	var idle wheel.Wheel[*conn]
	now := wheel.Tick(0)

	// A read only notes the time. The wheel is asked again when the old deadline is due.
	expire := func() (closed []string) {
		for at, c := range idle.Advance(now) {
			if deadline := c.lastRead + timeout; deadline > at {
				idle.Schedule(deadline, c)
				continue
			}
			closed = append(closed, c.name)
		}
		return closed
	}

	busy, quiet := &conn{name: "busy"}, &conn{name: "quiet"}
	idle.Schedule(timeout, busy)
	idle.Schedule(timeout, quiet)
	busy.lastRead = 59_000
	now = 60_000
	fmt.Println(expire())
	now = 119_000
	fmt.Println(expire())
	// Output:
	// [quiet]
	// [busy]
}

func Example_requestDeadlines() {
	var now wheel.Tick
	var deadlines wheel.Wheel[uint64]     // request ids
	inFlight := map[uint64]wheel.Handle{} // and what will time them out

	send := func(id uint64) { inFlight[id] = deadlines.Schedule(now+500, id) }
	reply := func(id uint64) bool {
		_, inTime := deadlines.Cancel(inFlight[id]) // true: it will not time out
		delete(inFlight, id)
		return inTime
	}

	send(1)
	send(2)
	fmt.Println(reply(1), reply(1))
	for _, id := range deadlines.Advance(500) {
		fmt.Println("timed out:", id)
	}
	// Output:
	// true false
	// timed out: 2
}

func Example_game() {
	const tickRate = 20                // per second
	var world wheel.Wheel[func() uint] // each creature's turn; returns ticks until the next
	world.Schedule(1, func() uint { fmt.Println("the snail moves"); return 5 * tickRate })
	world.Schedule(1, func() uint { fmt.Println("the bird moves"); return 2 * tickRate })

	for now := wheel.Tick(0); now <= 60; now++ {
		for at, turn := range world.Advance(now) {
			world.Schedule(at+wheel.Tick(turn()), turn)
		}
	}
	// Output:
	// the snail moves
	// the bird moves
	// the bird moves
}

func Example_setTimeout() {
	var clock wheel.Tick
	var timers wheel.Wheel[func()]
	setTimeout := func(f func(), ms int) wheel.Handle { return timers.Schedule(clock+wheel.Tick(max(ms, 1)), f) }
	clearTimeout := func(h wheel.Handle) { timers.Cancel(h) }

	setTimeout(func() { fmt.Println("second, as it was set later") }, 10)
	never := setTimeout(func() { fmt.Println("never") }, 10)
	setTimeout(func() { fmt.Println("first"); clearTimeout(never) }, 5)

	for next, ok := timers.Next(); ok; next, ok = timers.Next() {
		clock = next // or sleep until then
		for _, f := range timers.Advance(clock) {
			f()
		}
	}
	// Output:
	// first
	// second, as it was set later
}

func Example_timeInTests() {
	var w wheel.Wheel[string]
	w.Schedule(365*24*3600, "the certificate expires")

	for range w.Advance(364 * 24 * 3600) { // a test need not wait
		panic("too early")
	}
	for _, what := range w.Advance(365 * 24 * 3600) {
		fmt.Println(what)
	}
	// Output:
	// the certificate expires
}

func TestTheExamplesOfTheReadmeAreCompiled(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var compiled strings.Builder
	for _, file := range []string{
		"readme_test.go", "example_test.go", "../readme_test.go", "../example_test.go",
		"../time/example_test.go", "../loop/example_test.go",
	} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		compiled.WriteString(unindent(string(source)))
	}
	blocks := strings.Split(string(readme), "```go\n")[1:]
	if len(blocks) < 6 {
		t.Fatalf("%d examples in the README, want one for each kind of user", len(blocks))
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if !strings.Contains(compiled.String(), unindent(code)) {
			t.Errorf("this is in the README but in no test:\n%s", code)
		}
	}
}

// unindent drops the white space around every line, and empty lines.
func unindent(code string) string {
	var s strings.Builder
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" {
			s.WriteString(line + "\n")
		}
	}
	return s.String()
}
