package local

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/internal/testkit"
)

// TestSoak uses a store in all ways at once, and closes and opens it now and then. A ledger checks it.
// FOLIOT_STRESS says for how long.
func TestSoak(t *testing.T) {
	useSmallTables(t)
	dir, l := t.TempDir(), newLedger(crashAttempts)
	for end := time.Now().Add(testkit.StressTime(t, time.Second)); time.Now().Before(end) && len(l.problems) == 0; {
		soakOnce(t, l, dir, 50*time.Millisecond+rand.N(min(500*time.Millisecond, time.Until(end)+time.Millisecond)))
	}
	soakOnce(t, l, dir, 0)
	reportProblems(t, l, "soak")
	if l.count["start"] == 0 || l.count["left"] != 1 {
		t.Errorf("the soak tests too little: %v", l.count)
	}
	if report, err := Verify(dir); err != nil || len(report.Damages) > 0 || report.Timers > 0 {
		t.Errorf("Verify after the soak: %+v, %v", report, err)
	}
	t.Logf("%d times opened, %d calls acknowledged, %d attempts", l.count["boot"], l.count["ack"], l.count["start"])
}

// soakOnce opens the store and uses it for a time. With no time it lets all timers end.
func soakOnce(t *testing.T, l *ledger, dir string, d time.Duration) {
	t.Helper()
	store, err := Open(dir, Options{NoSync: rand.IntN(2) == 0})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	a := &actor{result: someFail, report: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		l.line(line)
	}}
	a.s, err = durable.New(store, durable.Options{
		Retry:  durable.Retry{Min: time.Millisecond, Max: 4 * time.Millisecond, Attempts: crashAttempts},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	a.s.Handle("k", a.handle)
	if err := a.boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := testkit.Async(func() error { return a.s.Run(ctx) })
	if d == 0 {
		err = a.finish(t.Context(), time.Now(), func() { time.Sleep(time.Millisecond) })
	} else {
		limit, stop := context.WithTimeout(t.Context(), d)
		var all sync.WaitGroup
		for w := range crashWorkers {
			all.Go(func() { a.work(limit, w) })
		}
		all.Wait()
		stop()
	}
	cancel()
	if run := testkit.Receive(t, done, "Run"); run != nil || err != nil {
		t.Errorf("Run returned %v, the actor %v", run, err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}
