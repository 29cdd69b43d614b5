package foliot_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

// Example_readme is the example of the README, so that it is compiled and run.
func Example_readme() {
	result := make(chan string, 1)
	rt, err := foliot.New(foliot.Options{})
	check(err) // ends the program if err is not nil
	deadline, err := rt.AfterFunc(5*time.Second, func() { result <- "timed out" })
	if err == nil && deadline.Stop() { // true: the callback will not run
		result <- "in time"
	}
	fmt.Println(<-result)
	// Output: in time
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// TestEveryExampleOfTheReadmeIsCompiled checks that each Go code block of README.md is also
// in a test file of this folder or one folder below, where the compiler and go test see it.
// White space and blank lines do not count.
func TestEveryExampleOfTheReadmeIsCompiled(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var compiled strings.Builder
	for _, pattern := range []string{"*_test.go", "*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			compiled.WriteString(trimLines(string(source)))
		}
	}
	blocks := strings.Split(string(readme), "```go\n")[1:]
	if len(blocks) == 0 {
		t.Fatal("the README has no Go code")
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if !strings.Contains(compiled.String(), trimLines(code)) {
			t.Errorf("this is in the README but in no test file:\n%s", code)
		}
	}
}

// trimLines removes the white space around each line, and blank lines.
func trimLines(code string) string {
	var s strings.Builder
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" {
			s.WriteString(line + "\n")
		}
	}
	return s.String()
}
