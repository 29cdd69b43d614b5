package bench

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/cockroachdb/pebble/v2"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/local"
)

// A durableStore keeps timers that outlive the process, in a folder. A timer is given by its ID, its deadline and a
// payload of orderPayload bytes.
type durableStore interface {
	// schedule returns when the timer is kept, as the store keeps things.
	schedule(id string, at time.Time) error

	// fill schedules the timers with numbers from from to to-1 as fast as the store can. Their IDs are those of orderID.
	fill(from, to int, at func(i int) time.Time) error

	// cancel returns an error if there is no such timer.
	cancel(id string) error

	// run calls fired for each timer that is due, with its deadline, on any goroutine. After stop has returned, there are
	// no more calls.
	run(fired func(at time.Time)) (stop func() error, err error)

	close() error
}

// A durableMaker says how to open a store, and in which scenarios it takes part.
type durableMaker struct {
	open  func(dir string, poll time.Duration) (durableStore, error)
	poll  time.Duration // how often it looks for timers that are due in a full run; 0: it does not poll
	polls string        // what that interval is; empty: it does not poll
	fires bool          // it calls functions for timers that are due
	opens bool          // it can be closed and opened again with its timers
	about func() string // what a reader must know about its calls; may be nil
	inUse string        // what a reader must know about its memory and about opening it; may be empty
}

// durableBase is the contender that the other stores are compared with where it does the same work.
const durableBase = "pebble"

var durableMakers = map[string]durableMaker{
	"durable": {
		open:  func(dir string, _ time.Duration) (durableStore, error) { return openLocal(dir, local.Options{}) },
		fires: true, opens: true,
	},
	"durable-nosync": {
		open: func(dir string, _ time.Duration) (durableStore, error) {
			return openLocal(dir, local.Options{NoSync: true})
		},
		fires: true,
		about: func() string { return "with NoSync, timers survive kill -9 and not a power cut" },
	},
	"pebble": {
		open: openPebble, opens: true,
		about: func() string {
			return "bare Pebble writes one key with as many bytes in each commit, and fires nothing: it is the floor"
		},
		inUse: "bare Pebble opens the folder and reads all keys",
	},
	"sqlite-poll": {
		open: openSQLite, poll: time.Second, fires: true, opens: true,
		polls: "River's default, which makes jobs available ahead of time",
		about: func() string {
			return "SQLite has a row for each timer and a transaction for each call, in WAL mode with synchronous=FULL"
		},
		inUse: "SQLite loads nothing: each poll asks the index",
	},
	"asynq": {
		open: openAsynq, poll: 5 * time.Second, fires: true,
		polls: "asynq's default; it keeps whole seconds, and deadlines are rounded up so that it does not fire early",
		about: func() string {
			if redisProgram() != "" {
				return "asynq runs on redis-server with appendfsync always"
			}
			return "asynq runs on miniredis in the same process, which keeps nothing"
		},
	},
}

const (
	orderKind    = "order"
	orderPayload = 64
)

// orderID returns the ID of a timer: 16 bytes.
func orderID(i int) string {
	b := append(make([]byte, 0, 16), "order-0000000000"...)
	for at := len(b) - 1; i > 0; i /= 10 {
		b[at] += byte(i % 10)
		at--
	}
	return string(b)
}

// A localStore is a Scheduler of Foliot on a folder.
type localStore struct {
	store     *local.Store
	scheduler *durable.Scheduler
	fired     func(at time.Time) // set before Run
	payload   []byte
}

func openLocal(dir string, o local.Options) (durableStore, error) {
	st, err := local.Open(dir, o)
	if err != nil {
		return nil, err
	}
	s, err := durable.New(st, durable.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	l := &localStore{store: st, scheduler: s, payload: make([]byte, orderPayload)}
	s.Handle(orderKind, func(_ context.Context, f durable.Fire) error {
		l.fired(f.At)
		return nil
	})
	return l, nil
}

func (l *localStore) timer(id string, at time.Time) durable.Timer {
	return durable.Timer{ID: id, At: at, Kind: orderKind, Payload: l.payload}
}

func (l *localStore) schedule(id string, at time.Time) error {
	_, err := l.scheduler.Schedule(context.Background(), l.timer(id, at))
	return err
}

func (l *localStore) fill(from, to int, at func(i int) time.Time) error {
	var batch []durable.Timer
	for i := from; i < to; i++ {
		batch = append(batch, l.timer(orderID(i), at(i)))
		if len(batch) == fillBatch || i == to-1 {
			if _, err := l.scheduler.ScheduleBatch(context.Background(), batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return nil
}

func (l *localStore) cancel(id string) error {
	ok, err := l.scheduler.Cancel(context.Background(), id)
	if err == nil && !ok {
		err = errNoTimer
	}
	return err
}

func (l *localStore) run(fired func(at time.Time)) (func() error, error) {
	l.fired = fired
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.scheduler.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}, nil
}

// loaded returns how many timers are in memory.
func (l *localStore) loaded() int { return l.scheduler.Stats().Loaded }

func (l *localStore) close() error { return l.store.Close() }

// fillBatch is how many timers a fill schedules in one commit, where the store can do that.
const fillBatch = 1000

var errNoTimer = errors.New("there is no such timer")

// A pebbleStore writes keys. It has the sizes that Foliot's store gives to Pebble.
type pebbleStore struct {
	db    *pebble.DB
	value []byte
}

func openPebble(dir string, _ time.Duration) (durableStore, error) {
	db, err := pebble.Open(dir, &pebble.Options{
		Logger:                      silentPebble{},
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                32 << 20,
		CacheSize:                   64 << 20,
		MemTableStopWritesThreshold: 1 << 10,
		L0StopWritesThreshold:       1 << 20,
	})
	if err != nil {
		return nil, err
	}
	// A timer of Foliot is a record, whose key is a byte and the ID, and a key of an index, which is nine bytes and the
	// ID. The record has about 24 bytes besides the payload.
	return &pebbleStore{db, make([]byte, 24+orderPayload+9+len(orderID(0)))}, nil
}

func (p *pebbleStore) key(id string) []byte {
	return append(append(make([]byte, 0, 1+len(id)), 'r'), id...)
}

func (p *pebbleStore) schedule(id string, _ time.Time) error {
	return p.db.Set(p.key(id), p.value, pebble.Sync)
}

func (p *pebbleStore) fill(from, to int, _ func(i int) time.Time) error {
	for ; from < to; from += fillBatch {
		b := p.db.NewBatch()
		for i := from; i < min(from+fillBatch, to); i++ {
			if err := b.Set(p.key(orderID(i)), p.value, nil); err != nil {
				return err
			}
		}
		if err := b.Commit(pebble.Sync); err != nil {
			return err
		}
	}
	return nil
}

func (p *pebbleStore) cancel(id string) error { return p.db.Delete(p.key(id), pebble.Sync) }

// run reads all keys, and calls fired once if there are any.
func (p *pebbleStore) run(fired func(at time.Time)) (func() error, error) {
	it, err := p.db.NewIter(nil)
	if err != nil {
		return nil, err
	}
	n := 0
	for it.First(); it.Valid(); it.Next() {
		n += len(it.Value())
	}
	if n > 0 {
		fired(time.Now())
	}
	return func() error { return nil }, it.Close()
}

func (p *pebbleStore) close() error { return p.db.Close() }

// silentPebble is a logger that logs nothing.
type silentPebble struct{}

func (silentPebble) Infof(string, ...any)           {}
func (silentPebble) Errorf(string, ...any)          {}
func (silentPebble) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }

// A sqliteStore is a table with an index by deadline and a goroutine that polls it, as job queues on databases do.
type sqliteStore struct {
	db                            *sql.DB
	poll                          time.Duration
	insert, remove, claim, finish *sql.Stmt
	payload                       []byte
}

func openSQLite(dir string, poll time.Duration) (durableStore, error) {
	file := filepath.ToSlash(filepath.Join(dir, "timers.db"))
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // SQLite has one writer at a time, and others would only wait for its lock
	s := &sqliteStore{db: db, poll: poll, payload: make([]byte, orderPayload)}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

func (s *sqliteStore) prepare() error {
	if _, err := s.db.Exec(`
		CREATE TABLE IF NOT EXISTS timers (id TEXT PRIMARY KEY, due INTEGER NOT NULL, kind TEXT NOT NULL, payload BLOB, claimed INTEGER NOT NULL DEFAULT 0);
		CREATE INDEX IF NOT EXISTS timers_due ON timers (claimed, due)`); err != nil {
		return err
	}
	for _, p := range []struct {
		to    **sql.Stmt
		query string
	}{
		{&s.insert, `INSERT OR REPLACE INTO timers (id, due, kind, payload) VALUES (?, ?, '` + orderKind + `', ?)`},
		{&s.remove, `DELETE FROM timers WHERE id = ? AND claimed = 0`},
		{&s.claim, `UPDATE timers SET claimed = 1 WHERE id IN (SELECT id FROM timers WHERE claimed = 0 AND due <= ? ORDER BY due LIMIT 1000) RETURNING due, payload`},
		{&s.finish, `DELETE FROM timers WHERE claimed = 1`},
	} {
		stmt, err := s.db.Prepare(p.query)
		if err != nil {
			return err
		}
		*p.to = stmt
	}
	return nil
}

func (s *sqliteStore) schedule(id string, at time.Time) error {
	_, err := s.insert.Exec(id, at.UnixNano(), s.payload)
	return err
}

func (s *sqliteStore) fill(from, to int, at func(i int) time.Time) error {
	for ; from < to; from += 10 * fillBatch {
		tx, err := s.db.Begin()
		if err != nil {
			return err
		}
		insert := tx.Stmt(s.insert)
		for i := from; i < min(from+10*fillBatch, to); i++ {
			if _, err := insert.Exec(orderID(i), at(i).UnixNano(), s.payload); err != nil {
				return errors.Join(err, tx.Rollback())
			}
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

func (s *sqliteStore) cancel(id string) error {
	r, err := s.remove.Exec(id)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, errNoTimer)
	}
	return nil
}

func (s *sqliteStore) run(fired func(at time.Time)) (func() error, error) {
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		tick := time.NewTicker(s.poll)
		defer tick.Stop()
		for {
			if err := s.fireDue(fired); err != nil {
				ended <- err
				return
			}
			select {
			case <-stop:
				ended <- nil
				return
			case <-tick.C:
			}
		}
	}()
	return func() error {
		close(stop)
		return <-ended
	}, nil
}

// fireDue claims the timers that are due, a thousand at a time, calls fired for them and removes them.
func (s *sqliteStore) fireDue(fired func(at time.Time)) error {
	for {
		rows, err := s.claim.Query(time.Now().UnixNano())
		if err != nil {
			return err
		}
		var due []int64
		for rows.Next() {
			var at int64
			var payload sql.RawBytes
			if err := rows.Scan(&at, &payload); err != nil {
				return errors.Join(err, rows.Close())
			}
			due = append(due, at)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(due) == 0 {
			return err
		}
		for _, at := range due {
			fired(time.Unix(0, at))
		}
		if _, err := s.finish.Exec(); err != nil {
			return err
		}
	}
}

func (s *sqliteStore) close() error { return s.db.Close() }

// An asynqStore is asynq with a server of Redis: the program redis-server if there is one, otherwise miniredis in this
// process.
type asynqStore struct {
	redis     asynq.RedisClientOpt
	poll      time.Duration
	client    *asynq.Client
	inspector *asynq.Inspector
	stop      func() error // ends the server of Redis
	external  bool         // its memory is not that of this process
}

func openAsynq(dir string, poll time.Duration) (durableStore, error) {
	a := &asynqStore{poll: poll}
	if program := redisProgram(); program != "" {
		if err := a.startRedis(program, dir); err != nil {
			return nil, err
		}
	} else {
		m := miniredis.NewMiniRedis()
		if err := m.Start(); err != nil {
			return nil, err
		}
		a.redis, a.stop = asynq.RedisClientOpt{Addr: m.Addr()}, func() error { m.Close(); return nil }
	}
	a.redis.PoolSize = durableCallers
	a.client, a.inspector = asynq.NewClient(a.redis), asynq.NewInspector(a.redis)
	return a, nil
}

// redisProgram returns the path of redis-server, or an empty string.
func redisProgram() string {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return ""
	}
	return path
}

// startRedis starts redis-server in a folder and waits until it is ready.
func (a *asynqStore) startRedis(program, dir string) error {
	socket := filepath.Join(dir, "socket")
	cmd := exec.Command(program, "--port", "0", "--unixsocket", socket, "--dir", dir, "--appendonly", "yes", "--appendfsync", "always", "--save", "")
	if err := cmd.Start(); err != nil {
		return err
	}
	a.external = true
	a.redis = asynq.RedisClientOpt{Network: "unix", Addr: socket}
	a.stop = func() error {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it returns an error, because the process was killed
		return nil
	}
	for range 500 {
		if _, err := os.Stat(socket); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.Join(fmt.Errorf("%s is not ready after 5 seconds", program), a.stop())
}

// schedule stores the deadline in the payload, because asynq does not give it to the handler. asynq keeps the second of a
// deadline without its fraction, and so would fire up to a second early: it gets the next second.
func (a *asynqStore) schedule(id string, at time.Time) error {
	payload := binary.BigEndian.AppendUint64(make([]byte, 0, orderPayload), uint64(at.UnixNano()))
	next := at.Add(time.Second - 1).Truncate(time.Second)
	_, err := a.client.Enqueue(asynq.NewTask(orderKind, payload[:orderPayload]), asynq.TaskID(id), asynq.ProcessAt(next))
	return err
}

func (a *asynqStore) fill(from, to int, at func(i int) time.Time) error {
	n := to - from
	failed := parallel(durableCallers, n, func(first, end int) (failed int) {
		for i := from + first; i < from+end; i++ {
			if a.schedule(orderID(i), at(i)) != nil {
				failed++
			}
		}
		return failed
	})
	if failed != 0 {
		return failedOpsError{failed, n}
	}
	return nil
}

func (a *asynqStore) cancel(id string) error { return a.inspector.DeleteTask("default", id) }

func (a *asynqStore) run(fired func(at time.Time)) (func() error, error) {
	server := asynq.NewServer(a.redis, asynq.Config{
		Concurrency:              durableCallers,
		DelayedTaskCheckInterval: a.poll,
		TaskCheckInterval:        min(a.poll, time.Second), // a second is the default
		LogLevel:                 asynq.FatalLevel,
	})
	err := server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		fired(time.Unix(0, int64(binary.BigEndian.Uint64(t.Payload()))))
		return nil
	}))
	return func() error { server.Shutdown(); return nil }, err
}

// bytes returns the memory of Redis. For miniredis that is the heap of this process.
func (a *asynqStore) bytes() (int64, error) {
	if !a.external {
		return heapBytes(), nil
	}
	c := redis.NewClient(&redis.Options{Network: a.redis.Network, Addr: a.redis.Addr})
	defer c.Close()
	info, err := c.Info(context.Background(), "memory").Bytes()
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(info) {
		if used, ok := strings.CutPrefix(string(bytes.TrimSpace(line)), "used_memory:"); ok {
			return strconv.ParseInt(used, 10, 64)
		}
	}
	return 0, errors.New("redis-server does not say how much memory it uses")
}

func (a *asynqStore) close() error {
	return errors.Join(a.client.Close(), a.inspector.Close(), a.stop())
}
