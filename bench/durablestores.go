package bench

import (
	"context"
	"errors"
	"log/slog"
	"time"

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
	return runScheduler(l.scheduler), nil
}

// runScheduler starts Run of a scheduler. stop ends it and returns its error.
func runScheduler(s *durable.Scheduler) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

// loaded returns how many timers are in memory.
func (l *localStore) loaded() int { return l.scheduler.Stats().Loaded }

func (l *localStore) close() error { return l.store.Close() }

// fillBatch is how many timers a fill schedules in one commit, where the store can do that.
const fillBatch = 1000

var errNoTimer = errors.New("there is no such timer")
