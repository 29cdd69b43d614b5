package jetstream

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/internal/natsserver"
)

// Servers are a NATS server, or some that are a cluster.
type Servers []*natsserver.Server

// StartServers starts servers that end with a test.
func StartServers(tb testing.TB, n int, o natsserver.Options) Servers {
	tb.Helper()
	skipShort(tb)
	return natsserver.ForTest(tb, n, o)
}

// skipShort skips a test that needs a server, with -short.
func skipShort(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("it needs a NATS server")
	}
}

// URL returns the addresses of all servers for nats.Connect.
func (all Servers) URL() string {
	var urls []string
	for _, s := range all {
		urls = append(urls, s.URL())
	}
	return strings.Join(urls, ",")
}

// Connect returns a connection to one of the servers. It is made again whenever it is lost, perhaps to another
// one, and closed at the end of the test.
func (all Servers) Connect(tb testing.TB, opts ...nats.Option) *nats.Conn {
	tb.Helper()
	nc, err := nats.Connect(all.URL(), append([]nats.Option{
		nats.MaxReconnects(-1), nats.ReconnectWait(50 * time.Millisecond), nats.ReconnectJitter(50*time.Millisecond, 0),
		nats.IgnoreDiscoveredServers(), nats.RetryOnFailedConnect(true),
		nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // the default one prints
	}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}

// Leader waits until a stream has a leader and returns it.
func (all Servers) Leader(tb testing.TB, stream string) *natsserver.Server {
	tb.Helper()
	nc := all.Connect(tb)
	defer nc.Close()
	for end := time.Now().Add(natsserver.Patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var info struct {
			Cluster struct{ Leader string }
		}
		m, err := nc.Request("$JS.API.STREAM.INFO."+stream, nil, time.Second)
		if err != nil || json.Unmarshal(m.Data, &info) != nil {
			continue
		}
		for _, s := range all {
			if s.Name == info.Cluster.Leader {
				return s
			}
		}
	}
	tb.Fatalf("stream %s has no leader after %v", stream, natsserver.Patience)
	return nil
}

// StepDown makes the leader of a stream give way to another server.
func (all Servers) StepDown(tb testing.TB, stream string) {
	tb.Helper()
	nc := all.Connect(tb)
	defer nc.Close()
	for end := time.Now().Add(natsserver.Patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		m, err := nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil, 2*time.Second)
		if err == nil && bytes.Contains(m.Data, []byte(`"success":true`)) {
			return
		}
	}
	tb.Fatalf("the leader of stream %s does not step down", stream)
}

// must ends a test if something cannot be done to a server.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
