package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

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
