package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/internal/testkit"
)

// scriptDir is the folder of the store on a file system in memory.
const scriptDir = "store"

// useSmallTables makes Pebble write its tables often.
func useSmallTables(t *testing.T) {
	prior := memTableSize
	memTableSize = 64 << 10
	t.Cleanup(func() { memTableSize = prior })
}

// A scriptRun is one run of the script, or what comes after it.
type scriptRun struct {
	actor
	t     *testing.T
	clock *foliot.ManualClock
	store *Store
	done  <-chan error
	stop  context.CancelFunc
}

// startScript opens a store on a file system and starts Run. The clock begins after that of the runs
// before. It returns the error of Open.
func startScript(t *testing.T, fs vfs.FS, o Options, process int, report func(string)) (*scriptRun, error) {
	store, err := open(scriptDir, o, fs)
	if err != nil {
		return nil, err
	}
	r := &scriptRun{t: t, store: store, clock: foliot.NewManualClock(time.Unix(1e9+100*int64(process), 0))}
	r.now = r.clock.Now
	r.report = report
	var called sync.Map // by Key
	r.result = func(f durable.Fire) string {
		_, again := called.LoadOrStore(f.Key(), true)
		switch {
		case strings.HasPrefix(f.ID, "f") && f.Attempt < 3 || strings.HasPrefix(f.ID, "d"):
			return "failed"
		case strings.HasPrefix(f.ID, "p") && !again:
			return "postponed"
		}
		return "done"
	}
	r.s, err = durable.New(store, durable.Options{
		Clock:  r.clock,
		Retry:  durable.Retry{Min: 2 * time.Millisecond, Max: 4 * time.Millisecond, Attempts: 4},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	r.s.Handle("k", r.handle)
	return r, nil
}

// begin reports what the store has, starts Run and waits until it has loaded the timers, or has
// failed. Otherwise the script might be over before Run has begun, with half of its syncs.
func (r *scriptRun) begin() error {
	if err := r.boot(r.t.Context()); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(r.t.Context())
	r.stop = stop
	r.done = testkit.Async(func() error { return r.s.Run(ctx) })
	testkit.Eventually(r.t, "Run has loaded the timers or failed", func() bool {
		return len(r.done) > 0 || !r.s.Stats().Loading
	})
	return nil
}

// end ends Run and closes the store. It returns the errors of both.
func (r *scriptRun) end() (run, closed error) {
	if r.stop != nil {
		r.stop()
		run = testkit.Receive(r.t, r.done, "Run")
	}
	testkit.Returns(r.t, "Close", func() { closed = r.store.Close() })
	return run, closed
}

// play plays the script. Each call is acknowledged or fails.
func (r *scriptRun) play() {
	ctx, start := r.t.Context(), r.clock.Now()
	timer := func(id string, after time.Duration) durable.Timer {
		return durable.Timer{ID: id, Kind: "k", At: start.Add(after), Payload: payloadOf(id)}
	}
	series := timer("s1", 5*time.Millisecond)
	series.Every = 7 * time.Millisecond
	r.schedule(ctx, "schedule", timer("a1", 10*time.Millisecond))
	r.schedule(ctx, "schedule", timer("a2", 10*time.Millisecond))
	r.schedule(ctx, "schedule", timer("c1", time.Hour))
	r.schedule(ctx, "series", series)
	r.batch(ctx, timer("b1", 20*time.Millisecond), timer("b2", 21*time.Millisecond), timer("b3", time.Hour), timer("a4", 0))
	var many []durable.Timer // more than Pebble keeps in memory
	for i := range 20 {
		many = append(many, timer(fmt.Sprintf("b2%d", i), time.Duration(i)*time.Millisecond))
	}
	r.batch(ctx, many...)
	r.clock.Advance(12 * time.Millisecond)
	r.cancel(ctx, "cancel", "c1", 0)
	r.schedule(ctx, "schedule", timer("a2", 30*time.Millisecond))
	r.schedule(ctx, "absent", timer("b1", 0), durable.IfAbsent())
	r.schedule(ctx, "schedule", timer("f1", 0))
	r.schedule(ctx, "schedule", timer("d1", 0))
	r.schedule(ctx, "schedule", timer("p1", 0))
	r.clock.Advance(10 * time.Millisecond)
	r.cancelSeries(ctx, "s1")
	r.schedule(ctx, "schedule", timer("b3", 40*time.Millisecond))
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			id := fmt.Sprintf("b1%d", i)
			r.schedule(ctx, "schedule", timer(id, time.Duration(30+i)*time.Millisecond))
			r.get(ctx, id)
			if i%2 == 0 {
				r.cancel(ctx, "cancel", id, 0)
			}
		})
	}
	testkit.Returns(r.t, "concurrent calls", all.Wait)
	for range 20 {
		r.clock.Advance(2 * time.Millisecond)
	}
	r.redrive(ctx, "d1")
	r.clock.Advance(time.Millisecond)
	r.cancel(ctx, "cancel", "a1", 0)
}

// batch schedules timers together.
func (r *scriptRun) batch(ctx context.Context, ts ...durable.Timer) {
	first := r.calls.Add(int64(len(ts))) - int64(len(ts)) + 1
	for i, t := range ts {
		r.say("call %d schedule %s 0", first+int64(i), t.ID)
	}
	revs, err := r.s.ScheduleBatch(ctx, ts)
	if err != nil {
		r.failed("ScheduleBatch", err)
		return
	}
	for i, rev := range revs {
		r.say("ack %d true %d", first+int64(i), rev)
	}
}

// redrive arms a dead timer. It reports that as a call without an ack, because it does not know the
// revision.
func (r *scriptRun) redrive(ctx context.Context, id string) {
	r.say("call %d schedule %s 0", r.calls.Add(1), id)
	if _, err := r.s.Redrive(ctx, id); err != nil && !errors.Is(err, durable.ErrExists) {
		r.failed("Redrive", err)
	}
}

// checkAfter opens the store again and lets all timers end.
func checkAfter(t *testing.T, fs vfs.FS, l *ledger, what string) {
	t.Helper()
	r, err := startScript(t, fs, Options{}, 1, l.line)
	if err != nil {
		t.Fatalf("%s: open after the fault: %v", what, err)
	}
	var mu sync.Mutex
	r.report = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		l.line(line)
	}
	if err := r.begin(); err != nil {
		t.Fatalf("%s: after the fault: %v", what, err)
	}
	if err := r.finish(t.Context(), r.clock.Now(), func() { r.clock.Advance(5 * time.Millisecond) }); err != nil {
		t.Fatalf("%s: after the fault: %v", what, err)
	}
	if run, closed := r.end(); run != nil || closed != nil {
		t.Fatalf("%s: after the fault: Run %v, Close %v", what, run, closed)
	}
}

// reportProblems fails the test with what the ledger has found.
func reportProblems(t *testing.T, l *ledger, what string) {
	t.Helper()
	for i, p := range l.problems {
		if i == 10 {
			break
		}
		t.Errorf("%s: %s", what, p)
	}
}
