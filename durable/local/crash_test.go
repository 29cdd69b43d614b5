package local

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

var kills = flag.Int("kills", 10, "how often TestCrash kills a process, with and without NoSync each")

// TestCrash kills a process that schedules, cancels and handles timers, again and again, and keeps the
// books of what it has acknowledged.
func TestCrash(t *testing.T) {
	testkit.SkipUnderRace(t, "it is about processes that are killed; TestSoak has the same actors")
	if testing.Short() {
		t.Skip("it starts many processes")
	}
	for _, mode := range []string{"", "nosync"} {
		t.Run("mode "+mode, func(t *testing.T) {
			dir := t.TempDir()
			l := newLedger(crashAttempts)
			begin, noted := time.Now(), time.Now()
			n := *kills
			for i := range n {
				crashOnce(t, l, dir, mode, true)
				if len(l.problems) > 0 {
					break
				}
				if time.Since(noted) > 5*time.Second || i == n-1 {
					noted = time.Now()
					fmt.Printf("crash %q: %d of %d kills in %v, %d calls acknowledged, %d attempts\n",
						mode, i+1, n, time.Since(begin).Round(time.Second), l.count["ack"], l.count["start"])
				}
			}
			if len(l.problems) == 0 {
				crashOnce(t, l, dir, mode+" drain", false)
				if l.count["left"] != 1 {
					t.Error("the last process did not report what is left")
				}
			}
			if l.count["ack"] == 0 || l.count["start"] == 0 {
				t.Errorf("nothing was tested: %v", l.count)
			}
			for i, p := range l.problems {
				if i == 20 {
					t.Errorf("and %d more", len(l.problems)-i)
					break
				}
				t.Error(p)
			}
		})
	}
}

// crashOnce starts a process, enters what it reports into the ledger, and kills it after a random time.
func crashOnce(t *testing.T, l *ledger, dir, mode string, kill bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrashChild$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), crashDir+"="+dir, crashMode+"="+mode)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	read := testkit.Async(func() error { return readEvents(l, out, ready) })
	if kill {
		// Mostly while it works, now and then while it opens the store.
		if rand.IntN(8) != 0 {
			select {
			case <-ready:
			case <-time.After(testkit.Timeout):
			}
		}
		time.Sleep(rand.N(100 * time.Millisecond))
		_ = cmd.Process.Kill()
	}
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil && !kill {
		t.Errorf("the process ended with %v: %s", err, stderr.String())
	}
	if kill && cmd.ProcessState.Exited() && cmd.ProcessState.ExitCode() >= 0 && stderr.Len() > 0 {
		t.Errorf("the process ended before it was killed: %s", stderr.String())
	}
}

// readEvents enters the events of a process into a ledger. It closes ready at the event ready.
func readEvents(l *ledger, out io.Reader, ready chan<- struct{}) error {
	r := bufio.NewReader(out)
	for closed := false; ; {
		line, err := r.ReadString('\n')
		if err == io.EOF {
			return nil // a line without an end was cut off
		}
		if err != nil {
			return err
		}
		event, ok := strings.CutPrefix(strings.TrimSpace(line), "@")
		if !ok {
			continue
		}
		l.line(event)
		if event == "ready" && !closed {
			closed = true
			close(ready)
		}
	}
}
