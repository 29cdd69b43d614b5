package jetstream

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/durable/internal/natstest"
	"github.com/foliot-go/foliot/durable/storetest"
)

// streams numbers the streams of tests, so that each test has its own on a server that they share.
var streams atomic.Int64

// A bed is a server or a cluster on which tests open stores.
type bed struct {
	connect  func(opts ...nats.Option) *nats.Conn
	replicas int

	partitions int // 0: 1

	mu   sync.Mutex
	open map[storetest.Store]openStore
}

// openStore is what a test needs of an open store besides the store.
type openStore struct {
	nc      *nats.Conn
	options Options
}

func newBed(connect func(opts ...nats.Option) *nats.Conn, replicas int) *bed {
	return &bed{connect: connect, replicas: replicas, open: map[storetest.Store]openStore{}}
}

// one returns a bed of one server.
func one(t *testing.T) *bed { return newBed(natstest.Start(t, natstest.Options{}).Connect, 1) }

// three returns a bed of a cluster of three.
func three(t *testing.T) *bed {
	return newBed(natstest.StartCluster(t, 3, natstest.Options{}).Connect, 3)
}

// options returns options with a stream that no other test has. It is removed at the end of the test.
func (b *bed) options(t *testing.T) Options {
	name := fmt.Sprintf("T%d", streams.Add(1))
	t.Cleanup(func() {
		nc := b.connect()
		defer nc.Close()
		for n := range max(b.partitions, 1) {
			_, _ = nc.Request("$JS.API.STREAM.DELETE."+partitionName(name, n), nil, 5*time.Second)
		}
	})
	return Options{Stream: name, Replicas: b.replicas, Partitions: b.partitions, Logger: slog.New(slog.NewTextHandler(testWriter{t}, nil)), Synced: true}
}

// testWriter writes to the log of a test.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	if w.t.Context().Err() == nil { // the test has not ended
		w.t.Logf("%s", b)
	}
	return len(b), nil
}

// store opens a store with its own connection.
func (b *bed) store(t *testing.T, o Options) *Store {
	t.Helper()
	nc := b.connect()
	s, err := Open(t.Context(), nc, o)
	if err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	b.open[s] = openStore{nc, o}
	b.mu.Unlock()
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// kill ends a store as kill -9 ends a process: nothing is said to others.
func (b *bed) kill(s storetest.Store, err error) {
	b.mu.Lock()
	nc := b.open[s].nc
	b.mu.Unlock()
	nc.Close()
	s.(*Store).fail(err)
}

// config returns the configuration of the suite.
func (b *bed) config() storetest.Config {
	return storetest.Config{
		Open: func(t *testing.T) storetest.Store { return b.store(t, b.options(t)) },
		Reopen: func(t *testing.T, old storetest.Store) storetest.Store {
			b.mu.Lock()
			o := b.open[old].options
			b.mu.Unlock()
			return b.store(t, o)
		},
		Crash: func(_ *testing.T, s storetest.Store) { b.kill(s, errCrash) },
		Fail:  func(_ *testing.T, s storetest.Store, err error) { s.(*Store).fail(err) },
	}
}

var errCrash = errors.New("the process of the test was killed")

func TestSuiteOnOneServer(t *testing.T) {
	t.Parallel()
	storetest.Run(t, one(t).config())
}

// TestSuiteOnPartitions runs the suite with timers in three streams, if FOLIOT_STRESS is set: it finds little
// that the others do not.
func TestSuiteOnPartitions(t *testing.T) {
	t.Parallel()
	if os.Getenv("FOLIOT_STRESS") == "" {
		t.Skip("FOLIOT_STRESS is not set")
	}
	b := one(t)
	b.partitions = 3
	storetest.Run(t, b.config())
}

func TestSuiteOnThreeServers(t *testing.T) {
	t.Parallel()
	storetest.Run(t, three(t).config())
}
