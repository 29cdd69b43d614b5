package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/foliot-go/foliot/internal/natsserver"
)

// A childServer is a server of HTTP that runs in a child process.
type childServer struct {
	cmd    *exec.Cmd
	addr   string        // host and port
	exited chan struct{} // closed when the process has ended
}

// readyLine is how the line begins that a server prints on standard error when it is ready. Its address follows.
const readyLine = "foliot: serving on http://"

// startPatience is how long a server may take to start.
const startPatience = 30 * time.Second

// buildFoliot builds the command foliot of this checkout into a folder.
func buildFoliot(dir string) (program string, err error) {
	program = filepath.Join(dir, "foliot")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	cmd := exec.Command("go", "build", "-o", program, "./cmd/foliot")
	cmd.Dir = root()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
}

// startChild starts a program with some arguments, and waits until its server is ready.
func startChild(program string, args ...string) (*childServer, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = withoutFoliot(os.Environ())
	natsserver.EndWithParent(cmd)
	printed, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &childServer{cmd: cmd, exited: make(chan struct{})}
	ready := make(chan string, 1)
	var last string // line that it has printed
	go func() {
		for lines := bufio.NewScanner(printed); lines.Scan(); {
			last = lines.Text()
			if _, addr, ok := strings.Cut(last, readyLine); ok {
				select {
				case ready <- addr:
				default: // it was said before
				}
			}
		}
		_ = cmd.Wait()
		close(c.exited)
	}()
	select {
	case c.addr = <-ready:
		return c, nil
	case <-c.exited:
		err = errors.New("it has ended")
	case <-time.After(startPatience):
		err = fmt.Errorf("it is not ready after %v", startPatience)
	}
	c.kill()
	return nil, fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, last)
}

// kill ends the process at once.
func (c *childServer) kill() {
	_ = c.cmd.Process.Kill()
	<-c.exited
}

// withoutFoliot returns the variables of an environment that do not set flags of the command foliot.
func withoutFoliot(env []string) (rest []string) {
	for _, v := range env {
		if !strings.HasPrefix(v, "FOLIOT_") {
			rest = append(rest, v)
		}
	}
	return rest
}
