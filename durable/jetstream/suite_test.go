package jetstream

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/durable/storetest"
	"github.com/foliot-go/foliot/internal/natsserver"
	"github.com/foliot-go/foliot/internal/testkit"
)

// streams numbers the streams of tests, so that each test has its own on a server that they share.
var streams atomic.Int64

// A bed is a server or a cluster on which tests open stores.
type bed struct {
	tb         testing.TB // at whose end its connections are closed
	servers    Servers
	partitions int // 0: 1

	mu   sync.Mutex
	open map[storetest.Store]openStore
}

// openStore is what a test needs of an open store besides the store.
type openStore struct {
	nc      *nats.Conn
	options Options
}

func newBed(tb testing.TB, servers Servers) *bed {
	return &bed{tb: tb, servers: servers, open: map[storetest.Store]openStore{}}
}

// own returns a bed of n servers of which the test may do as it likes.
func own(t *testing.T, n int, o natsserver.Options) *bed {
	t.Helper()
	return newBed(t, StartServers(t, n, o))
}

// one returns a bed of one server that tests share.
func one(t *testing.T) *bed {
	t.Helper()
	return newBed(t, sharedOne.use(t))
}

// three returns a bed of a cluster of three that tests share.
func three(t *testing.T) *bed {
	t.Helper()
	return newBed(t, sharedThree.use(t))
}

// shared are servers that the first test which needs them starts, and that run until the last test has ended.
// No test may kill or stop them.
type shared struct {
	n     int
	once  sync.Once
	dir   string
	all   Servers
	error error
}

var sharedOne, sharedThree = &shared{n: 1}, &shared{n: 3}

// use returns the servers.
func (s *shared) use(t *testing.T) Servers {
	t.Helper()
	skipShort(t)
	s.once.Do(s.start)
	if errors.Is(s.error, natsserver.ErrNoModule) {
		t.Skip(s.error)
	}
	must(t, s.error)
	t.Cleanup(func() {
		for _, server := range s.all {
			server.LogTail(t)
		}
	})
	return s.all
}

// start starts the servers, and makes a stream that is never removed: the server removes the folder of its
// streams with the last of them, also while it makes another.
func (s *shared) start() {
	if s.dir, s.error = os.MkdirTemp("", "foliot-nats-"); s.error != nil {
		return
	}
	if s.all, s.error = natsserver.StartCluster(s.dir, s.n, natsserver.Options{}); s.error != nil {
		return
	}
	nc, err := nats.Connect(s.all.URL())
	if err != nil {
		s.error = err
		return
	}
	defer nc.Close()
	m, err := nc.Request("$JS.API.STREAM.CREATE.KEEP", fmt.Appendf(nil, `{"name":"KEEP","subjects":["KEEP"],"num_replicas":%d}`, s.n), 10*time.Second)
	if err == nil && bytes.Contains(m.Data, []byte(`"error"`)) {
		err = fmt.Errorf("the first stream cannot be made: %s", m.Data)
	}
	s.error = err
}

// end ends the servers.
func (s *shared) end() error {
	var errs []error
	for _, server := range s.all {
		errs = append(errs, server.Kill())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// connect returns a connection that is closed at the end of the test.
func (b *bed) connect(opts ...nats.Option) *nats.Conn { return b.servers.Connect(b.tb, opts...) }

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
	return Options{Stream: name, Replicas: len(b.servers), Partitions: b.partitions, Logger: slog.New(slog.NewTextHandler(testWriter{t}, nil)), Synced: true}
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

// TestSuiteOnPartitions runs the suite with timers in three streams.
func TestSuiteOnPartitions(t *testing.T) {
	t.Parallel()
	testkit.OnlyInFull(t, "the suite on three partitions")
	b := one(t)
	b.partitions = 3
	storetest.Run(t, b.config())
}

func TestSuiteOnThreeServers(t *testing.T) {
	t.Parallel()
	testkit.OnlyInFull(t, "the suite on three servers; the rules of the protocol are tested on three all the same")
	storetest.Run(t, three(t).config())
}
