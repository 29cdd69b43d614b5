// Command release prepares a release of Foliot in a fresh clone: the go.mod and go.sum of each published module, the
// changelog, the commits and the tags. It prints the command that publishes them and pushes nothing.
//
//	make release VERSION=v0.1.0
//
// The working tree it is called from stays as it is.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(os.Stdout, ".", os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// run releases the repository that dir is in. The only argument is the version.
func run(w io.Writer, dir string, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return errors.New("which version? Run: make release VERSION=v0.1.0")
	}
	r, err := prepare(dir, args[0], time.Now().Format(time.DateOnly))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, `%[1]s is ready in %[2]s. Nothing has been pushed.

To look at it:
	git -C '%[2]s' show %[1]s
To publish it:
	git -C '%[2]s' push --atomic origin %[3]s %[4]s
Then, in your own clone:
	git pull
`, args[0], r.dir, r.branch, strings.Join(r.tags, " "))
	return err
}
