//go:build unix

package jetstream_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/skew"
	"github.com/foliot-go/foliot/durable/jetstream"
)

// The environment of the processes of TestNemesis.
const (
	nemesisURLs = "FOLIOT_NEMESIS_URLS" // of the servers
	nemesisLife = "FOLIOT_NEMESIS_LIFE" // the number of the process
	nemesisSkew = "FOLIOT_NEMESIS_SKEW" // how far its wall clock is ahead
)

const (
	nemesisAttempts = 8
	nemesisWorkers  = 4
	callTime        = 5 * time.Second // how long a call may take
)

// TestNemesisChild is a process of TestNemesis. It reports to its standard output what a ledger reads, and
// does what its standard input says. It does nothing in a normal run of the tests.
func TestNemesisChild(t *testing.T) {
	urls := os.Getenv(nemesisURLs)
	if urls == "" {
		t.Skip("TestNemesis runs this")
	}
	skew.By, _ = time.ParseDuration(os.Getenv(nemesisSkew))
	c := &nemesisChild{life: os.Getenv(nemesisLife), decided: make(map[string]int64)}
	if err := c.run(urls); err != nil {
		c.say("error %v", err)
	}
}

// A nemesisChild schedules, cancels and handles timers.
type nemesisChild struct {
	life  string
	s     *durable.Scheduler
	calls atomic.Int64

	mu      sync.Mutex
	decided map[string]int64 // by Key and attempt: when Fire was called
}

// say reports an event. It is one write, so that it is reported when this returns.
func (c *nemesisChild) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	line := fmt.Appendf(nil, "@%d ", time.Now().UnixNano())
	line = fmt.Appendf(line, format, args...)
	_, _ = os.Stdout.Write(append(line, '\n'))
}

func (c *nemesisChild) run(urls string) error {
	nc, err := nats.Connect(urls,
		nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.IgnoreDiscoveredServers(), nats.RetryOnFailedConnect(true),
		nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2), nats.Timeout(time.Second),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		return err
	}
	defer nc.Close()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	store := c.open(nc, log)
	c.s, err = durable.New(nemesisSpy{store, c}, durable.Options{
		Retry:  durable.Retry{Min: 50 * time.Millisecond, Max: 200 * time.Millisecond, Attempts: nemesisAttempts},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	c.s.Handle("k", c.handle)
	running, stopRun := context.WithCancel(context.Background())
	defer stopRun()
	done := make(chan error, 1)
	go func() {
		err := c.s.Run(running)
		if running.Err() == nil {
			c.say("error Run returned %v", err)
		}
		done <- err
	}()
	working, stopWork := context.WithCancel(context.Background())
	defer stopWork()
	var workers sync.WaitGroup
	for w := range nemesisWorkers {
		workers.Go(func() { c.work(working, w) })
	}
	workers.Go(func() { c.share(working) })
	workers.Go(func() { c.shareSeries(working) })
	c.say("ready")

	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch in.Text() {
		case "stop":
			stopWork()
			workers.Wait()
			c.say("stopped")
		case "drain":
			if err := c.drain(); err != nil {
				return err
			}
		case "exit":
			stopRun()
			return errors.Join(<-done, store.Close())
		}
	}
	return nil
}

// open opens the store, as soon as the servers let it.
func (c *nemesisChild) open(nc *nats.Conn, log *slog.Logger) *jetstream.Store {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		store, err := jetstream.Open(ctx, nc, jetstream.Options{Replicas: 3, Partitions: 2, Logger: log})
		cancel()
		if err == nil {
			return store
		}
		fmt.Fprintf(os.Stderr, "Open: %v\n", err)
		time.Sleep(100 * time.Millisecond)
	}
}

// wall returns the time of the wall clock of this process.
func wall() time.Time { return time.Now().Add(skew.By).Round(0) }

// work schedules timers, and cancels some at about the time when they are due.
func (c *nemesisChild) work(ctx context.Context, worker int) {
	var cancels sync.WaitGroup
	defer cancels.Wait()
	for n := 0; ctx.Err() == nil; n++ {
		id := fmt.Sprintf("u%s.%d.%d", c.life, worker, n)
		t := c.timer(id, 100*time.Millisecond+rand.N(1500*time.Millisecond))
		if c.schedule(t, "schedule", 0) && rand.IntN(10) < 3 {
			cancels.Go(func() {
				time.Sleep(t.At.Sub(wall()) - 15*time.Millisecond + rand.N(30*time.Millisecond))
				c.cancel(id, "cancel", 0)
			})
		}
		time.Sleep(rand.N(80 * time.Millisecond))
	}
}

// share makes calls for timers that the workers of all processes share.
func (c *nemesisChild) share(ctx context.Context) {
	revs := make(map[string]uint64)
	for ctx.Err() == nil {
		id := fmt.Sprintf("h%d.%d", time.Now().Unix()/3, rand.IntN(4))
		t := c.timer(id, rand.N(100*time.Millisecond))
		switch rand.IntN(8) {
		case 0, 1:
			c.schedule(t, "schedule", 0)
		case 2:
			c.schedule(t, "absent", 0, durable.IfAbsent())
		case 3:
			c.schedule(t, "rev", revs[id], durable.IfRev(revs[id]))
		case 4:
			c.cancel(id, "cancel", 0)
		case 5:
			c.cancel(id, "cancelrev", revs[id], durable.IfRev(revs[id]))
		case 6, 7:
			if rev := c.get(id); rev != 0 {
				revs[id] = rev
			}
		}
		time.Sleep(rand.N(100 * time.Millisecond))
	}
}

// shareSeries does the same for periodic timers, and ends those that are old.
func (c *nemesisChild) shareSeries(ctx context.Context) {
	for ctx.Err() == nil {
		now := time.Now().Unix() / 3
		id := fmt.Sprintf("s%d", now)
		t := c.timer(id, rand.N(100*time.Millisecond))
		t.Every = 200*time.Millisecond + rand.N(500*time.Millisecond)
		switch rand.IntN(6) {
		case 0, 1:
			c.schedule(t, "series", 0)
		case 2:
			c.cancel(id, "cancel", 0)
		case 3:
			if rev := c.get(id); rev != 0 {
				c.cancel(id, "cancelrev", rev, durable.IfRev(rev))
			}
		case 4:
			c.get(id)
		case 5:
			c.cancel(fmt.Sprintf("s%d", now-1-rand.Int64N(4)), "cancel", 0)
		}
		time.Sleep(rand.N(300 * time.Millisecond))
	}
}

func (c *nemesisChild) timer(id string, in time.Duration) durable.Timer {
	return durable.Timer{ID: id, Kind: "k", At: wall().Add(in), Payload: []byte(id)}
}

// call reports a call and its result. f returns a revision or 0, and whether it has changed something.
func (c *nemesisChild) call(op, id string, rev uint64, f func(ctx context.Context) (uint64, bool, error)) bool {
	n := c.calls.Add(1)
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	c.say("call %d %s %s %d", n, op, id, rev)
	got, ok, err := f(ctx)
	result := strconv.FormatBool(ok)
	switch {
	case errors.Is(err, durable.ErrExists):
		result = "exists"
	case errors.Is(err, durable.ErrRev):
		result = "badrev"
	case err != nil:
		c.say("fail %d", n)
		fmt.Fprintf(os.Stderr, "%s: %v\n", op, err)
		return false
	}
	c.say("ack %d %s %d", n, result, got)
	return ok
}

func (c *nemesisChild) schedule(t durable.Timer, op string, rev uint64, on ...durable.If) bool {
	return c.call(op, t.ID, rev, func(ctx context.Context) (uint64, bool, error) {
		rev, err := c.s.Schedule(ctx, t, on...)
		return rev, err == nil, err
	})
}

func (c *nemesisChild) cancel(id, op string, rev uint64, on ...durable.If) {
	c.call(op, id, rev, func(ctx context.Context) (uint64, bool, error) {
		ok, err := c.s.Cancel(ctx, id, on...)
		return 0, ok, err
	})
}

func (c *nemesisChild) get(id string) (rev uint64) {
	c.call("get", id, 0, func(ctx context.Context) (uint64, bool, error) {
		t, ok, err := c.s.Get(ctx, id)
		if ok && !bytes.Equal(t.Payload, []byte(id)) {
			c.say("error %s has the payload %q", id, t.Payload)
		}
		rev = t.Rev
		return rev, ok, err
	})
	return rev
}

var errNemesis = errors.New("the handler fails")

// handle is the handler. Some attempts fail, and some take long.
func (c *nemesisChild) handle(_ context.Context, f durable.Fire) error {
	now := wall()
	c.mu.Lock()
	from := c.decided[attemptName(f)]
	delete(c.decided, attemptName(f))
	c.mu.Unlock()
	c.say("start %s %d %d %d", f.ID, f.Rev, f.Attempt, from)
	if now.Before(f.At) {
		c.say("error %s is early by %v", f.Key(), f.At.Sub(now))
	}
	if !bytes.Equal(f.Payload, []byte(f.ID)) {
		c.say("error %s has the payload %q", f.Key(), f.Payload)
	}
	h := fnv.New32()
	h.Write([]byte(f.Key()))
	how := "done"
	switch k := h.Sum32() % 40; {
	case k == 0, k < 5 && f.Attempt < 3:
		if how = "again"; f.Attempt >= nemesisAttempts {
			how = "dead"
		}
	case k < 8:
		time.Sleep(rand.N(time.Second))
	case k == 8: // it is likely to run while its process is stopped or cut off, or just after
		time.Sleep(2*time.Second + rand.N(4*time.Second))
		if f.Attempt < 2 {
			how = "again"
		}
	case k == 9 && rand.IntN(3) > 0:
		how = "postponed"
	}
	c.say("end %s %d %d %s", f.ID, f.Rev, f.Attempt, how)
	switch how {
	case "done":
		return nil
	case "postponed":
		return durable.Postpone(errNemesis, 50*time.Millisecond+rand.N(50*time.Millisecond))
	}
	return errNemesis
}

func attemptName(f durable.Fire) string { return f.Key() + " " + strconv.Itoa(f.Attempt) }

// drain ends all series, waits until all timers have an outcome, and reports what is left.
func (c *nemesisChild) drain() error {
	for t, err := range c.s.List(context.Background(), durable.Query{Prefix: "s"}) {
		if err != nil {
			return err
		}
		c.cancel(t.ID, "cancel", 0)
	}
	for end := time.Now().Add(40 * time.Second); c.s.Stats().Pending > 0 && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	n := 0
	for t, err := range c.s.List(ctx, durable.Query{}) {
		if err != nil {
			return err
		}
		c.say("has %s %d", t.ID, t.Rev)
		n++
	}
	for f, err := range c.s.Dead(ctx) {
		if err != nil {
			return err
		}
		c.say("dead %s %d %d", f.ID, f.Rev, f.Attempt)
	}
	c.say("left %d", n)
	return nil
}

// A nemesisSpy is a store that tells a process when a firing is decided or may be, and when an end is kept.
type nemesisSpy struct {
	durable.Store
	c *nemesisChild
}

func (s nemesisSpy) Fire(ids []string, r durable.Rules) (durable.Fired, error) {
	from := time.Now().UnixNano()
	fired, err := s.Store.Fire(ids, r)
	known := make(map[string]bool)
	s.c.mu.Lock()
	for _, f := range fired.Fires {
		s.c.decided[attemptName(f)] = from
		known[f.ID] = true
	}
	s.c.mu.Unlock()
	for _, id := range ids {
		if !known[id] {
			s.c.say("maybe %s %d", id, from)
		}
	}
	for _, f := range fired.Dead {
		s.c.say("buried %s %d", f.ID, f.Rev)
	}
	return fired, err
}

func (s nemesisSpy) Finish(f durable.Fire, end durable.End) (bool, func() error, error) {
	ok, wait, err := s.Store.Finish(f, end)
	if err != nil {
		return ok, wait, err
	}
	return ok, func() error {
		err := wait()
		if err == nil {
			s.c.say("kept %s %d %d %t", f.ID, f.Rev, f.Attempt, ok)
		}
		return err
	}, nil
}
