package jetstream

import (
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/natstest"
	"github.com/foliot-go/foliot/internal/testkit"
)

// TestAnEndIsReportedAfterALongOutage holds the acknowledgement of an end back for longer than a call may
// last. The end is stored all the same, and Finish says so.
func TestAnEndIsReportedAfterALongOutage(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes longer than a call may last")
	}
	t.Parallel()
	server := natstest.Start(t, natstest.Options{})
	proxy := natstest.NewProxy(t, server.Addr)
	nc, err := nats.Connect(proxy.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.PingInterval(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	s, err := Open(t.Context(), nc, Options{Synced: true, Logger: slog.New(slog.NewTextHandler(testWriter{t}, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Schedule(t.Context(), []durable.Timer{{ID: "x", Kind: "k", At: time.Now()}}, durable.Condition{}); err != nil {
		t.Fatal(err)
	}
	fired, err := s.Fire([]string{"x"}, durable.Rules{Now: time.Now().Add(time.Second), Attempts: -1, Handled: func(string) bool { return true }})
	if err != nil || len(fired.Fires) != 1 {
		t.Fatalf("Fire returns %+v and %v", fired, err)
	}
	proxy.Hold(false, true)
	ended := testkit.Async(func() bool {
		ok, _, err := s.Finish(fired.Fires[0], durable.End{How: durable.Done})
		return ok && err == nil
	})
	time.Sleep(callBound + time.Second)
	proxy.Heal()
	if !testkit.Receive(t, ended, "the end of the attempt") {
		t.Error("Finish returns false, and the end is stored")
	}
}
