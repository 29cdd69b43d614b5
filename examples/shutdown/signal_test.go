//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

func TestASignalShutsDown(t *testing.T) {
	// A signal must not end the test, even before run listens for signals and after it stops.
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGTERM)
	defer signal.Stop(ignored)

	r, w := io.Pipe()
	result := make(chan error, 1)
	go func() {
		result <- run(strings.Fields("-for 0 -within 100ms -work 1ms -grace 1m"), w)
		w.Close()
	}()
	lines := bufio.NewScanner(r)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "running") {
		t.Fatalf("first line: %q, %v", lines.Text(), lines.Err())
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var last string
	for lines.Scan() {
		last = lines.Text()
	}
	if err := <-result; err != nil || !strings.Contains(last, "jobs scheduled") {
		t.Errorf("%v; last line: %q", err, last)
	}
}
