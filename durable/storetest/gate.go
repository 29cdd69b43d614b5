package storetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// gate is a handler that reports each call and waits until the test lets it return.
type gate struct {
	calls  chan durable.Fire
	result chan error
}

func newGate() *gate { return &gate{make(chan durable.Fire, 64), make(chan error)} }

func (g *gate) handler(_ context.Context, f durable.Fire) error {
	g.calls <- f
	return <-g.result
}

// called waits for the next call.
func (g *gate) called(k *kit) durable.Fire {
	k.Helper()
	select {
	case f := <-g.calls:
		return f
	case <-time.After(k.c.Patience):
		k.Fatal("no handler is called")
		return durable.Fire{}
	}
}

// end lets a handler return.
func (g *gate) end(k *kit, err error) {
	k.Helper()
	select {
	case g.result <- err:
	case <-time.After(k.c.Patience):
		k.Fatal("no handler is running")
	}
}

var errHandler = errors.New("the handler of the test fails")

// fireNames returns short names of calls: ID, revision, attempt.
func fireNames(fs []durable.Fire) (names []string) {
	for _, f := range fs {
		names = append(names, fmt.Sprintf("%s#%d", f.Key(), f.Attempt))
	}
	return names
}

func fireIDs(fs []durable.Fire) (ids []string) {
	for _, f := range fs {
		ids = append(ids, f.ID)
	}
	return ids
}

// logs is a slog.Handler that keeps what is logged.
type logs struct {
	mu    sync.Mutex
	lines []string
}

func (*logs) Enabled(context.Context, slog.Level) bool { return true }
func (l *logs) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l *logs) WithGroup(string) slog.Handler          { return l }

func (l *logs) Handle(_ context.Context, r slog.Record) error {
	line := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	return nil
}

// with returns the lines that contain a text.
func (l *logs) with(text string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}
