package jetstream

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/durable"
)

// The environment of a process that a test starts.
const (
	childURL    = "FOLIOT_JETSTREAM_URL"
	childStream = "FOLIOT_JETSTREAM_STREAM"
)

// TestMain is the main function of the tests, and of the processes that they start.
func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		if err := childMain(url, os.Getenv(childStream)); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		return
	}
	setParallel()
	code := m.Run()
	if err := errors.Join(sharedOne.end(), sharedThree.end()); err != nil {
		fmt.Println(err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// setParallel lets more tests run at a time than there are processors, unless the flag says how many: most of
// them wait for servers and processes.
func setParallel() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	}
}

// childMain runs a Scheduler that reports each handler to the standard output, until the standard input
// ends. Timers of kind quick are done at once, those of kind slow take a minute.
func childMain(url, stream string) error {
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		return err
	}
	defer nc.Close()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	store, err := Open(context.Background(), nc, Options{Stream: stream, Logger: log, Synced: true})
	if err != nil {
		return err
	}
	s, err := durable.New(store, durable.Options{Logger: log, Drain: time.Second})
	if err != nil {
		return err
	}
	report := func(f durable.Fire) {
		fmt.Printf("fire %s %d %d\n", f.ID, f.Attempt, time.Now().UnixNano()) // one write
	}
	s.Handle("quick", func(_ context.Context, f durable.Fire) error {
		report(f)
		return nil
	})
	s.Handle("slow", func(ctx context.Context, f durable.Fire) error {
		report(f)
		select {
		case <-time.After(time.Minute):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	fmt.Println("ready")
	err = s.Run(ctx)
	return errors.Join(err, store.Close())
}

// A child is a process that runs childMain.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ready chan struct{}
	ended chan struct{}

	mu    sync.Mutex
	fires []childFire
}

// A childFire is a call of a handler of a child.
type childFire struct {
	id      string
	attempt int
	at      time.Time
}

// startChild starts a process, and waits until it runs.
func startChild(t *testing.T, url, stream string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0]), ready: make(chan struct{}), ended: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), childURL+"="+url, childStream+"="+stream)
	c.cmd.Stderr = os.Stderr
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go c.read(out)
	t.Cleanup(c.kill)
	select {
	case <-c.ready:
	case <-c.ended:
		t.Fatal("the process has ended at once")
	case <-time.After(30 * time.Second):
		t.Fatal("the process is not ready")
	}
	return c
}

func (c *child) read(out io.Reader) {
	defer close(c.ended)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var f childFire
		var ns int64
		switch line := lines.Text(); {
		case line == "ready":
			close(c.ready)
		case strings.HasPrefix(line, "error"):
			c.t.Log("a process says: ", line)
		default:
			if _, err := fmt.Sscanf(line, "fire %s %d %d", &f.id, &f.attempt, &ns); err == nil {
				f.at = time.Unix(0, ns)
				c.mu.Lock()
				c.fires = append(c.fires, f)
				c.mu.Unlock()
			}
		}
	}
	_ = c.cmd.Wait()
}

// kill ends the process as kill -9 does.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.ended
}

// stop ends the process in an orderly way.
func (c *child) stop() {
	_ = c.stdin.Close()
	select {
	case <-c.ended:
	case <-time.After(30 * time.Second):
		c.t.Error("the process does not end")
		c.kill()
	}
}

// all returns the calls of handlers so far.
func (c *child) all() []childFire {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]childFire(nil), c.fires...)
}
