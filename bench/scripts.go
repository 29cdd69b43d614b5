package bench

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// scripts are event loops of other programs, which take part when they are installed.
var scripts = []contender{
	{Contender: Contender{Name: "asyncio", Title: "Python's asyncio", Module: "python3", Kind: External}, ask: func() string { return scriptVersion("asyncio") }},
	{Contender: Contender{Name: "uvloop", Title: "uvloop", Module: "python3", Kind: External}, ask: func() string { return scriptVersion("uvloop") }},
	{Contender: Contender{Name: "node", Title: "Node.js", Module: "node", Kind: External}, ask: func() string { return scriptVersion("node") }},
}

//go:embed script/loop.py
var pythonScript string

//go:embed script/loop.js
var nodeScript string

// An answer is what a script prints.
type answer struct {
	NS      float64   `json:"ns"`      // what the work took
	Late    []float64 `json:"late"`    // nanoseconds, of each timer
	Version string    `json:"version"` // of the program
}

// runScript has a script do one piece of work.
func runScript(ctx context.Context, name, work string, n int, extra ...int) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	args := []string{"-", name, work, strconv.Itoa(n)}
	for _, x := range extra {
		args = append(args, strconv.Itoa(x))
	}
	program, text := "python3", pythonScript
	if name == "node" {
		program, text = "node", nodeScript
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin = strings.NewReader(text)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		return a, fmt.Errorf("%s: %w: %s", name, err, lines[len(lines)-1])
	}
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		return a, fmt.Errorf("%s: %w", name, err)
	}
	return a, nil
}

var versions = struct {
	sync.Mutex
	of map[string]string
}{of: map[string]string{}}

// scriptVersion returns the version of a program, or nothing if it is not installed.
func scriptVersion(name string) string {
	versions.Lock()
	defer versions.Unlock()
	v, ok := versions.of[name]
	if !ok {
		if a, err := runScript(context.Background(), name, "version", 0); err == nil {
			v = a.Version
		}
		versions.of[name] = v
	}
	return v
}
