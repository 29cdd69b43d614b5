package local

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
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

// crashChild is an actor that reports to the standard output.
type crashChild struct {
	actor
	drain bool
}

func (c *crashChild) run(dir string, o Options) error {
	var mu sync.Mutex
	c.report = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(os.Stdout, "@%s\n", line) // one write, so that it is reported when this returns
	}
	c.result = someFail
	store, err := Open(dir, o)
	if err != nil {
		return err
	}
	c.s, err = durable.New(store, durable.Options{
		Retry:  durable.Retry{Min: time.Millisecond, Max: 4 * time.Millisecond, Attempts: crashAttempts},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	c.s.Handle("k", c.handle)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := c.boot(ctx); err != nil {
		return err
	}
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
	if err := c.finish(ctx, time.Now(), func() { time.Sleep(time.Millisecond) }); err != nil {
		return err
	}
	cancel()
	return errors.Join(<-done, store.Close())
}

// someFail makes the first attempts of some timers fail, and all attempts of others. It postpones some.
func someFail(f durable.Fire) string {
	h := fnv.New32()
	h.Write([]byte(f.Key()))
	switch h.Sum32() % 8 {
	case 0:
		return "failed"
	case 1, 2:
		if f.Attempt < 3 {
			return "failed"
		}
	case 3:
		time.Sleep(3 * time.Millisecond)
	case 4:
		if rand.IntN(3) > 0 {
			return "postponed"
		}
	}
	return "done"
}

// work schedules and cancels timers until the context ends or the process is killed.
func (c *actor) work(until context.Context, worker int) {
	ctx := context.WithoutCancel(until)
	for until.Err() == nil {
		id := fmt.Sprintf("%s%d.%d", []string{"a", "a", "s"}[rand.IntN(3)], worker, rand.IntN(crashIDs))
		t := durable.Timer{ID: id, Kind: "k", At: time.Now().Add(rand.N(20 * time.Millisecond)), Payload: payloadOf(id)}
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
