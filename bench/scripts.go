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

// scripts are the event loops of other programs. They take part if they are installed.
var scripts = []contender{
	{Contender: Contender{Name: "asyncio", Title: "Python's asyncio", Module: "python3", Kind: External}, version: func() string { return scriptVersion("asyncio") }},
	{Contender: Contender{Name: "uvloop", Title: "uvloop", Module: "python3", Kind: External}, version: func() string { return scriptVersion("uvloop") }},
	{Contender: Contender{Name: "node", Title: "Node.js", Module: "node", Kind: External}, version: func() string { return scriptVersion("node") }},
}

//go:embed script/loop.py
var pythonScript string

//go:embed script/loop.js
var nodeScript string

// A scriptResult is what a script prints.
type scriptResult struct {
	NS      float64   `json:"ns"`      // time of the work, in nanoseconds
	Late    []float64 `json:"late"`    // how late each timer was, in nanoseconds
	Version string    `json:"version"` // of the program
}

// runScript runs a script that does one piece of work.
func runScript(ctx context.Context, name, work string, n int, extra ...int) (a scriptResult, err error) {
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

// versionCache keeps the versions of programs; empty: not installed.
var versionCache = struct {
	sync.Mutex
	of map[string]string
}{of: map[string]string{}}

// scriptVersion returns the version of a program, or an empty string if it is not installed.
func scriptVersion(name string) string {
	versionCache.Lock()
	defer versionCache.Unlock()
	v, ok := versionCache.of[name]
	if !ok {
		if a, err := runScript(context.Background(), name, "version", 0); err == nil {
			v = a.Version
		}
		versionCache.of[name] = v
	}
	return v
}
