package local

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// The environment of the process that TestCrash kills.
const (
	crashDir  = "FOLIOT_CRASH_DIR"
	crashMode = "FOLIOT_CRASH_MODE" // a list of nosync and drain
)

const (
	crashAttempts = 10
	crashWorkers  = 8
	crashIDs      = 24 // of each worker
)

// TestCrashChild is the process that TestCrash kills. It reports to its standard output what a ledger
// reads. It does nothing in a normal run of the tests.
func TestCrashChild(t *testing.T) {
	dir, mode := os.Getenv(crashDir), os.Getenv(crashMode)
	if dir == "" {
		t.Skip("TestCrash runs this")
	}
	c := &crashChild{drain: strings.Contains(mode, "drain")}
	if err := c.run(dir, Options{NoSync: strings.Contains(mode, "nosync")}); err != nil {
		c.say("error %v", err)
	}
}

type crashChild struct {
	mu    sync.Mutex
	s     *durable.Scheduler
	calls atomic.Int64
	drain bool
}

// say reports an event. A line is one write, so that it is reported when say returns.
func (c *crashChild) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(os.Stdout, "@"+format+"\n", args...)
}

func (c *crashChild) run(dir string, o Options) error {
	store, err := Open(dir, o)
	if err != nil {
		return err
	}
	c.s, err = durable.New(store, durable.Options{
		Retry: durable.Retry{Min: time.Millisecond, Max: 4 * time.Millisecond, Attempts: crashAttempts},
	})
	if err != nil {
		return err
	}
	c.s.Handle("k", c.handle)
	c.say("boot")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for timer, err := range c.s.List(ctx, durable.Query{}) {
		if err != nil {
			return err
		}
		c.say("has %s %d", timer.ID, timer.Rev)
	}
	if err := c.dead(ctx); err != nil {
		return err
	}
	c.say("ready")
	done := make(chan error, 1)
	go func() { done <- c.s.Run(ctx) }()
	if !c.drain {
		var all sync.WaitGroup
		for w := range crashWorkers {
			all.Go(func() { c.work(ctx, w) })
		}
		all.Wait()
		return nil
	}
	if err := c.finish(ctx); err != nil {
		return err
	}
	cancel()
	return errors.Join(<-done, store.Close())
}

// work schedules and cancels timers until the process is killed.
func (c *crashChild) work(ctx context.Context, worker int) {
	for {
		id := fmt.Sprintf("%s%d.%d", []string{"a", "a", "s"}[rand.IntN(3)], worker, rand.IntN(crashIDs))
		t := durable.Timer{ID: id, Kind: "k", At: time.Now().Add(rand.N(20 * time.Millisecond)), Payload: []byte(id)}
		if rand.IntN(4) == 0 {
			t.At = t.At.Add(time.Hour)
		}
		op := "schedule"
		if strings.HasPrefix(id, "s") {
			op, t.Every = "series", time.Millisecond+rand.N(10*time.Millisecond)
		}
		switch rand.IntN(8) {
		case 0, 1, 2:
			c.schedule(ctx, op, t)
		case 3:
			if op == "schedule" {
				c.schedule(ctx, "absent", t, durable.IfAbsent())
			}
		case 4, 5:
			if op == "schedule" {
				c.cancel(ctx, "cancel", id, 0)
				break
			}
			c.cancelSeries(ctx, id)
		case 6:
			c.get(ctx, id)
		case 7:
			time.Sleep(rand.N(2 * time.Millisecond))
		}
	}
}

func (c *crashChild) schedule(ctx context.Context, op string, t durable.Timer, on ...durable.If) {
	n := c.calls.Add(1)
	c.say("call %d %s %s 0", n, op, t.ID)
	rev, err := c.s.Schedule(ctx, t, on...)
	if err != nil && !errors.Is(err, durable.ErrExists) {
		c.say("error Schedule %v", err)
		return
	}
	c.say("ack %d %t %d", n, err == nil, rev)
}

func (c *crashChild) cancel(ctx context.Context, op, id string, rev uint64, on ...durable.If) {
	n := c.calls.Add(1)
	c.say("call %d %s %s %d", n, op, id, rev)
	ok, err := c.s.Cancel(ctx, id, on...)
	if err != nil && !errors.Is(err, durable.ErrRev) {
		c.say("error Cancel %v", err)
		return
	}
	c.say("ack %d %t 0", n, ok)
}

// cancelSeries cancels the next occurrence of a series and those that follow.
func (c *crashChild) cancelSeries(ctx context.Context, id string) {
	if rev, ok := c.get(ctx, id); ok {
		c.cancel(ctx, "cancelrev", id, rev, durable.IfRev(rev))
	}
}

func (c *crashChild) get(ctx context.Context, id string) (rev uint64, ok bool) {
	n := c.calls.Add(1)
	c.say("call %d get %s", n, id)
	t, ok, err := c.s.Get(ctx, id)
	if err != nil {
		c.say("error Get %v", err)
		return 0, false
	}
	if ok && string(t.Payload) != id {
		c.say("error %s has the payload %q", id, t.Payload)
	}
	c.say("ack %d %t %d", n, ok, t.Rev)
	return t.Rev, ok
}

// handle fails at the first attempts of some timers, and at all attempts of others.
func (c *crashChild) handle(_ context.Context, f durable.Fire) error {
	early := f.At.Sub(time.Now().Round(0))
	c.say("start %s %d %d", f.ID, f.Rev, f.Attempt)
	if early > 0 {
		c.say("error %s is early by %v", f.Key(), early)
	}
	if string(f.Payload) != f.ID {
		c.say("error %s has the payload %q", f.Key(), f.Payload)
	}
	h := fnv.New32()
	h.Write([]byte(f.Key()))
	var err error
	switch h.Sum32() % 8 {
	case 0:
		err = errors.New("always")
	case 1, 2:
		if f.Attempt < 3 {
			err = errors.New("at first")
		}
	case 3:
		time.Sleep(3 * time.Millisecond)
	}
	how := "done"
	if err != nil {
		how = "failed"
	}
	c.say("end %s %d %d %s", f.ID, f.Rev, f.Attempt, how)
	return err
}

// finish cancels the series, makes all timers due, waits for them, and reports what is left.
func (c *crashChild) finish(ctx context.Context) error {
	for t, err := range c.s.List(ctx, durable.Query{}) {
		switch {
		case err != nil:
			return err
		case t.Every != 0:
			for ok := true; ok; _, ok = c.get(ctx, t.ID) {
				c.cancelSeries(ctx, t.ID)
			}
		case time.Until(t.At) > time.Minute:
			t.At = time.Now()
			c.schedule(ctx, "schedule", t)
		}
	}
	for end := time.Now().Add(20 * time.Second); c.s.Stats().Pending > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if err := c.dead(ctx); err != nil {
		return err
	}
	c.say("left %d", c.s.Stats().Pending)
	return nil
}

// dead reports the dead timers.
func (c *crashChild) dead(ctx context.Context) error {
	for f, err := range c.s.Dead(ctx) {
		if err != nil {
			return err
		}
		c.say("dead %s %d", f.ID, f.Rev)
	}
	return nil
}
